import StageKit

@testable import ScanStage

extension FuzzTarget {
  /// A scanner's reply; and the same input as a scanner's address.
  static let scan = FuzzTarget(name: "scan", longest: 512) { bytes in
    let reply = Reply(bytes)
    switch reply {
    case .clean: try demand(bytes == Array("stream: OK\0".utf8), "clean: \(text(bytes).debugDescription)")
    case .found(let said), .notScanned(let said), .error(let said):
      try demand(isPrintable(said) && (1...200).contains(said.utf8.count), "it said \(said.debugDescription)")
    case .nonsense: break
    }
    // Options reach a stage as C strings.
    let address: ScannerAddress
    do throws(Outcome) { address = try ScannerAddress(text(bytes.prefix { $0 != 0 })) } catch { return }
    switch address {
    case .unix(let path):
      try demand(path.hasPrefix("/") && path.utf8.count < 108 && !path.utf8.contains(0), "the path \(path)")
    case .tcp(let host, let port): try demand(!host.isEmpty && port > 0, "\(host) and \(port)")
    }
  }
}
