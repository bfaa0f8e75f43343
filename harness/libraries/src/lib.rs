//! Backend libraries on disk: which packages hold them, fetching, verifying and finding them.
