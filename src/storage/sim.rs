/// x
#[derive(Debug)]
pub struct Sim;
