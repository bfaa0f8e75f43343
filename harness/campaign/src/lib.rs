//! The supervisor: workers, journal, confirmation, minimisation and findings.
