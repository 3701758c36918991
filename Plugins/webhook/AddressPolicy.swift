import StageKit

/// Decides which addresses a webhook may connect to: public Internet addresses, and those that
/// `allow-private` names.
///
/// Otherwise a user who chooses an endpoint could reach internal services that trust their network
/// (server-side request forgery). The check uses the address of each connection and not the name, whose
/// address may change at any moment.
struct AddressPolicy {
  private let named: Set<IPAddress>
  /// `allow-private` names the endpoint's host: then all its addresses are allowed.
  private let trustsHost: Bool

  init(allowing entries: [String], for endpoint: Endpoint) throws(Outcome) {
    var named: Set<IPAddress> = []
    var hosts: Set<String> = []
    for entry in entries {
      if let address = IPAddress(entry) {
        named.insert(address)
      } else if Self.isName(entry) {
        hosts.insert(Endpoint.normal(entry))
      } else {
        throw .fail(
          "invalid-options",
          "allow-private: '\(entry)' is neither an address nor a host name; ranges are not taken")
      }
    }
    self.named = named
    trustsHost = hosts.contains(endpoint.host)
    if let address = IPAddress(endpoint.host), !allows(address) {
      throw .fail("address-not-allowed", "url: \(Self.refusal(of: address))")
    }
  }

  func allows(_ address: IPAddress) -> Bool {
    address.isGlobal || trustsHost || named.contains(address)
  }

  static func refusal(of address: IPAddress) -> String {
    "\(address) is not an address of the public Internet; if it is meant, name it under `allow-private`"
  }

  /// Letters, digits, `-`, `_` and dots, and no number as the last part: that would be an unusual spelling of
  /// an address.
  private static func isName(_ text: String) -> Bool {
    guard let last = text.split(separator: ".").last, !last.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
      return false
    }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        true
      default: false
      }
    }
  }
}
