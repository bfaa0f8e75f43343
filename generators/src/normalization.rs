/// The parameters of a BatchNormalization, with one entry per channel.
pub struct Normalization {
    /// `None` leaves the attribute out.
    pub epsilon: Option<f32>,
    pub scale: Vec<f64>,
    pub offset: Vec<f64>,
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
}

impl Normalization {
    pub const fn with_epsilon(epsilon: f32) -> Self {
        Self { epsilon: Some(epsilon), scale: vec![], offset: vec![], mean: vec![], variance: vec![] }
    }
}
