import Pipeline
import Scheduler

/// What a client of ClamAV's daemon is told.
enum ClamdAnswer {
  /// Bytes of a name, at most: clamav-milter takes no more.
  static let longestName = 127

  /// - Parameter unknown: what it is told of a content that was not decided.
  static func text(_ result: CheckResult, _ unknown: ServeRules.ClamdDoor.Unknown) -> String {
    switch result.verdict {
    case .clean: return "OK"
    case .found: return "\(name(result)) FOUND"
    case .unknown:
      let name = name(result)
      return unknown == .found ? "\(name) FOUND" : "\(name): not decided. ERROR"
    }
  }

  /// The name that a scanner gave what it found; else `Sluice.STAGE.CODE`.
  static func name(_ result: CheckResult) -> String {
    if result.reason?.code == "virus-found",
      case .text(let signature)? = result.metadata.first(where: { $0.key == "scan.signature" })?.value,
      !signature.isEmpty
    {
      let name = plain(signature)
      // Clients look for these words first.
      return ["OK", "ERROR"].contains(where: name.uppercased().hasPrefix) ? plain("Found.\(name)") : name
    }
    guard let reason = result.reason else { return "Sluice.unexplained" }
    return plain("Sluice.\(reason.stage).\(reason.code)")
  }

  /// Clients look for colons and spaces.
  private static func plain(_ text: String) -> String {
    let bytes = text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
        byte
      default: UInt8(ascii: "_")
      }
    }
    return String(decoding: bytes.prefix(longestName), as: UTF8.self)
  }
}
