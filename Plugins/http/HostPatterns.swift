import Outbound
import StageKit

/// Names of hosts; `*.name` stands for all names below it, and not for the name itself.
struct HostPatterns {
  private var names: Set<String> = []
  /// Each with its dot: `.example.com`.
  private var endings: [String] = []

  /// None.
  init() {}

  /// Reads what an option says. Throws `invalid-options` for what is neither a name, an address nor a pattern.
  init(_ entries: [String], option: String) throws(Outcome) {
    for entry in entries where !insert(entry) {
      throw .fail(
        "invalid-options",
        "\(option): '\(entry)' is neither a host name nor `*.` and a name; no port, no path")
    }
  }

  /// Reads what the host hands over with a transfer; what is no pattern matches nothing.
  init(_ entries: [String]) {
    for entry in entries { _ = insert(entry) }
  }

  var isEmpty: Bool { names.isEmpty && endings.isEmpty }

  /// Whether a host, in its normal spelling, is among them.
  func contain(_ host: String) -> Bool {
    names.contains(host) || endings.contains { host.hasSuffix($0) && host.utf8.count > $0.utf8.count }
  }

  private mutating func insert(_ entry: String) -> Bool {
    if entry.hasPrefix("*.") {
      let name = HostName.normal(String(entry.dropFirst(2)))
      guard HostName.isName(name), IPAddress(name) == nil else { return false }
      endings.append("." + name)
      return true
    }
    let name = HostName.normal(entry)
    guard !name.isEmpty, IPAddress(name) != nil || HostName.isName(name) else { return false }
    names.insert(name)
    return true
  }
}
