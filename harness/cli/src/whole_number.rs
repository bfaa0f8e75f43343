use std::str::FromStr;

/// The text is not a whole number, or too large a one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a whole number, such as 1000")]
pub struct InvalidNumber;

/// Parses the value of an option that takes a whole number.
pub fn whole_number<N: FromStr>(text: &str) -> Result<N, InvalidNumber> {
    text.parse().map_err(|_| InvalidNumber)
}

#[cfg(test)]
mod tests {
    use super::{InvalidNumber, whole_number};

    #[test]
    fn only_whole_numbers_that_fit_are_accepted() {
        assert_eq!(whole_number::<u64>("1000"), Ok(1000));
        let refused = ["1e3", "1,000", "ten", "", "1.5", "18446744073709551616"];
        assert!(refused.iter().all(|text| whole_number::<u64>(text) == Err(InvalidNumber)));
    }
}
