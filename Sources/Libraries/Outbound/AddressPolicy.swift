import StageKit

/// Decides which addresses a plugin may connect to: public Internet addresses that are not this machine's own, and those
/// that `allow-private` names.
///
/// Otherwise a user who chooses an endpoint or a link could reach internal services that trust their network
/// (server-side request forgery). The check uses the address of each connection and not the name, whose
/// address may change at any moment; so may the addresses of this machine. Where a gateway translates a public address to
/// this machine, as clouds do, the machine does not know that address.
public struct AddressPolicy {
  private let named: Set<IPAddress>
  /// Names of hosts all of whose addresses are allowed.
  private let hosts: Set<String>
  /// The keys of a pipeline file, from the outermost on, under which `allow-private` stands.
  private let place: [String]

  /// Public addresses of others only.
  public init() {
    (named, hosts, place) = ([], [], [])
  }

  /// - Parameters:
  ///   - entries: the values of `allow-private`: addresses and names of hosts. Throws `invalid-options` for others.
  ///   - place: the keys of a pipeline file, from the outermost on, under which they stand; empty: they stand in none.
  public init(allowing entries: [String], under place: [String] = []) throws(Outcome) {
    var named: Set<IPAddress> = []
    var hosts: Set<String> = []
    for entry in entries {
      if let address = IPAddress(entry) {
        named.insert(address)
      } else if HostName.isName(entry) {
        hosts.insert(HostName.normal(entry))
      } else {
        throw .fail(
          "invalid-options",
          "allow-private: '\(entry)' is neither an address nor a host name; ranges are not taken")
      }
    }
    self.named = named
    self.hosts = hosts
    self.place = place
  }

  /// Whether an address may be connected to, for a host in its normal spelling.
  public func allows(_ address: IPAddress, for host: String) -> Bool {
    hosts.contains(host) || named.contains(address) || address.isGlobal && !isOwn(address)
  }

  private func isOwn(_ address: IPAddress) -> Bool { NetworkRoute.isOwn(address.embedded ?? address) }

  /// The sentence for an address that is not allowed, with what to write in the pipeline file.
  public func refusal(of address: IPAddress) -> String {
    // A lane says what fetches its links.
    let path = place.map { "\($0): { " + ($0 == "downloads" ? "use: http, " : "") }.joined()
    let ends = String(repeating: " }", count: place.count)
    let what = address.isGlobal ? "an address of this machine" : "not an address of the public Internet"
    return "\(address) is \(what); if it is meant, write "
      + "`\(path)allow-private: [\"\(address)\"]\(ends)`"
  }
}
