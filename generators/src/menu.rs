use crate::Choices;

/// The options of a decision, each with its weight.
///
/// A menu always has an option: a restriction that leaves none is an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Menu<T> {
    options: Vec<(T, u32)>,
    total: usize,
}

/// The error of a restriction that leaves no option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the restriction leaves no option of {0} to choose from")]
pub struct NothingLeft(&'static str);

impl<T: Clone> Menu<T> {
    /// # Panics
    ///
    /// If the weights sum to zero, which only a wrong constant of a space does.
    pub(crate) fn new(options: impl IntoIterator<Item = (T, u32)>) -> Self {
        let options: Vec<_> = options.into_iter().filter(|(_, weight)| *weight > 0).collect();
        let total = options.iter().map(|(_, weight)| *weight as usize).sum();
        assert!(total > 0, "a menu has an option");
        Self { options, total }
    }

    /// A menu of these options, drawn in proportion to their weights. Options of weight zero are left out.
    pub fn weighted(options: impl IntoIterator<Item = (T, u32)>) -> Result<Self, NothingLeft> {
        let mut options = options.into_iter().filter(|(_, weight)| *weight > 0).peekable();
        if options.peek().is_none() {
            return Err(NothingLeft(std::any::type_name::<T>()));
        }
        Ok(Self::new(options))
    }

    /// A menu with the single option `option`.
    pub fn only(option: T) -> Self {
        Self::new([(option, 1)])
    }

    /// The options for which `keep` is true, with their weights.
    pub fn keep(&self, keep: impl Fn(&T) -> bool) -> Result<Self, NothingLeft> {
        Self::weighted(self.options.iter().filter(|(option, _)| keep(option)).cloned())
    }

    /// This menu with more options.
    pub(crate) fn with(&self, more: impl IntoIterator<Item = (T, u32)>) -> Self {
        Self::new(self.options.iter().cloned().chain(more))
    }

    /// All options.
    pub fn options(&self) -> impl Iterator<Item = &T> {
        self.options.iter().map(|(option, _)| option)
    }

    /// Draws an option in proportion to its weight.
    pub fn draw(&self, choices: &mut Choices) -> T {
        self.pick(choices.below(self.total), |_| true)
    }

    /// As [`draw`](Self::draw), but a single option takes no choice, so that all others stay as they are.
    pub(crate) fn draw_if_several(&self, choices: &mut Choices) -> T {
        match self.options.as_slice() {
            [(only, _)] => only.clone(),
            _ => self.draw(choices),
        }
    }

    /// As [`draw`](Self::draw), among the options for which `keep` is true; among all options if it is true for none.
    pub(crate) fn draw_among(&self, choices: &mut Choices, keep: impl Fn(&T) -> bool) -> T {
        let total: u32 =
            self.options.iter().filter(|(option, _)| keep(option)).map(|(_, weight)| weight).sum();
        if total == 0 { self.draw(choices) } else { self.pick(choices.below(total as usize), keep) }
    }

    fn pick(&self, mut rest: usize, keep: impl Fn(&T) -> bool) -> T {
        for (option, weight) in self.options.iter().filter(|(option, _)| keep(option)) {
            match rest.checked_sub(*weight as usize) {
                Some(less) => rest = less,
                None => return option.clone(),
            }
        }
        unreachable!("a number below the total weight falls on an option")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_drawn_in_proportion_to_their_weights() {
        let menu = Menu::new([('a', 1), ('b', 3), ('c', 0)]);
        let mut choices = Choices::of_index(0, 0);
        let drawn: Vec<_> = (0..4000).map(|_| menu.draw(&mut choices)).collect();
        let count = |letter| drawn.iter().filter(|option| **option == letter).count();
        assert!((900..1100).contains(&count('a')), "{}", count('a'));
        assert_eq!(count('a') + count('b'), 4000);
    }

    #[test]
    fn a_restriction_that_leaves_nothing_is_refused() {
        assert_eq!(Menu::weighted([(3_u8, 0)]), Err(NothingLeft("u8")));
        assert_eq!(Menu::only(3_u8).keep(|option| *option > 3), Err(NothingLeft("u8")));
    }
}
