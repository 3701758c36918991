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

  func connect(by deadline: Deadline) throws(Outcome) -> Connection {
    switch self {
    case .door(let door): try door.connect(by: deadline)
    case .tcp(let addresses): try addresses.connect(by: deadline)
    }
  }
}
