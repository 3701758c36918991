import StageKit

/// How to connect to the scanner once the sandbox is closed. Created before that.
enum Route {
  case door(Door)
  case tcp(TCPAddresses)

  init(to address: ScannerAddress, _ opening: Opening) throws(Outcome) {
    switch address {
    case .unix(let path): self = .door(try Door(to: path, opening))
    case .tcp(let host, let port): self = .tcp(try TCPAddresses(of: host, port: port))
    }
  }

  /// Begins to connect.
  func approach() throws(Outcome) -> any Approach {
    switch self {
    case .door(let door): try DoorApproach(door)
    case .tcp(let addresses): try TCPApproach(addresses)
    }
  }

  /// Takes what has come for all that connect.
  func collect() {
    if case .door(let door) = self { door.collect() }
  }
}
