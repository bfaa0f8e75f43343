/// What `MaxPool` makes of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The largest element, as in ONNX.
    #[default]
    Maximum,
    /// Something else; only mutants do that.
    Other(Choice, Padding),
}

/// What may be made of a window in place of its largest element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    Least,
    First,
    Last,
    Mean,
    LargestMagnitude,
}

/// How positions outside of the data count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    Ignored,
    Zero,
}

impl Reduction {
    /// Everything but the largest element.
    pub fn others() -> impl Iterator<Item = Self> {
        let choices =
            [Choice::Least, Choice::First, Choice::Last, Choice::Mean, Choice::LargestMagnitude].into_iter();
        let all = choices
            .flat_map(|choice| [Padding::Ignored, Padding::Zero].map(|padding| Self::Other(choice, padding)));
        // a zero is never the number of the largest magnitude, and the least element has a name already
        let is_new = |one: &Self| {
            !matches!(
                one,
                Self::Other(Choice::LargestMagnitude, Padding::Zero)
                    | Self::Other(Choice::Least, Padding::Ignored)
            )
        };
        all.filter(is_new)
    }

    /// The name in names of edits.
    pub fn slug(self) -> String {
        let Self::Other(choice, padding) = self else { return "maximum".to_owned() };
        let choice = match choice {
            Choice::Least => "minimum",
            Choice::First => "first-element",
            Choice::Last => "last-element",
            Choice::Mean => "mean",
            Choice::LargestMagnitude => "largest-magnitude",
        };
        let padding = match padding {
            Padding::Ignored => "",
            Padding::Zero => "-with-padding",
        };
        format!("{choice}{padding}")
    }

    /// What sentences say of it, behind the operator.
    pub fn clause(self) -> String {
        let Self::Other(choice, padding) = self else {
            return "gives the largest element of each window".to_owned();
        };
        let choice = match choice {
            Choice::Least => "gives the least element of each window",
            Choice::First => "gives the first element of each window",
            Choice::Last => "gives the last element of each window",
            Choice::Mean => "gives the mean of each window",
            Choice::LargestMagnitude => "gives the element of each window that is farthest from zero",
        };
        let padding = match padding {
            Padding::Ignored => "",
            Padding::Zero => ", with zeros in the padding",
        };
        format!("{choice}{padding}")
    }
}
