//! The example of the README, as it stands there.

use twinfer::{Conformance, Error, Family};

#[test]
fn deconvolutions_conform() -> Result<(), Error> {
    let conformance = Conformance::of(&["ort:cpu,opt=off"])?;
    conformance.check_all(Family::Deconv.cases(0).take(256))
}
