/// x
#[derive(Debug)]
pub struct Disk;
