import Outbound
import StageKit

/// The URL of a webhook.
struct Endpoint {
  let url: String
  /// A name in lower case, or an address without brackets.
  let host: String
  let isSecure: Bool

  init(_ url: String) throws(Outcome) {
    let parsed: WebURL
    do throws(WebURL.Fault) { parsed = try WebURL(url) } catch {
      let reason =
        error.isCredential ? "has a user name; the signature is what proves who sends" : error.reason
      throw .fail("invalid-options", "url: \(reason)")
    }
    self.url = url
    host = parsed.host
    isSecure = parsed.isSecure
  }

  /// Throws where the host is an address that the policy does not allow. A name is checked when it is connected to.
  func check(_ policy: AddressPolicy) throws(Outcome) {
    if let address = IPAddress(host), !policy.allows(address, for: host) {
      throw .fail("address-not-allowed", "url: \(policy.refusal(of: address))")
    }
  }
}
