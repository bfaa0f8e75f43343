use std::str::FromStr;

/// Why a text is not the value of an option that takes a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNumber {
    /// It is not a whole number, or too large a one.
    #[error("give a whole number, such as 1000")]
    NotWhole,
    /// It is zero, and the option takes none.
    #[error("give at least 1")]
    Zero,
}

/// Parses the value of an option that takes a whole number.
pub fn whole_number<N: FromStr>(text: &str) -> Result<N, InvalidNumber> {
    let is_zero = text.parse() == Ok(0_u64);
    text.parse().map_err(|_| if is_zero { InvalidNumber::Zero } else { InvalidNumber::NotWhole })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::{InvalidNumber, whole_number};

    #[test]
    fn only_whole_numbers_that_fit_are_accepted() {
        assert_eq!(whole_number::<u64>("1000"), Ok(1000));
        let refused = ["1e3", "1,000", "ten", "", "1.5", "18446744073709551616"];
        assert!(refused.iter().all(|text| whole_number::<u64>(text) == Err(InvalidNumber::NotWhole)));
        assert_eq!(whole_number::<u64>("0"), Ok(0));
        assert_eq!(whole_number::<NonZeroU64>("0"), Err(InvalidNumber::Zero));
    }
}
