import Outbound
import StageKit

/// Decides which links may be asked: by the names of hosts, and by addresses that stand in the place of one. The address of a
/// name is checked when it is connected to.
struct Admission {
  var hosts = HostPatterns()
  var addresses = AddressPolicy()

  /// Why a link may not be asked; `nil`: it may.
  func refusal(of link: WebURL) -> Outcome? {
    if !hosts.isEmpty && !hosts.contain(link.host) {
      return .fail("host-not-allowed", "\(link.host) is not among the `hosts` that may be asked")
    }
    if let address = IPAddress(link.host), !addresses.allows(address, for: link.host) {
      return .fail("address-not-allowed", addresses.refusal(of: address))
    }
    return nil
  }
}
