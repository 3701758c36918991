import Outbound
import StageKit

@testable import WebhookChannel

extension FuzzTarget {
  /// A URL on the first line; the values of `allow-private` and `secrets` on the others. The bytes also serve
  /// as an address and as an endpoint's answer.
  static let webhook = FuzzTarget(name: "webhook", longest: 1024) { bytes in
    let lines = bytes.split(separator: 10, omittingEmptySubsequences: false).map { text($0) }
    try checkEndpoint(lines[0], allowing: Array(lines.dropFirst()))
    try checkSecrets(Array(lines.dropFirst()))
    for count in [4, 16] where bytes.count >= count {
      let address = IPAddress(bytes: Array(bytes.prefix(count)))
      try demand(IPAddress(address.description) == address, "\(address) reads as another")
      try demand(!(isPrivate(address) && address.isGlobal), "\(address) counts as public")
    }
    if bytes.count >= 10 {
      let status = Int(bytes[0]) << 8 | Int(bytes[1])
      let wait = bytes[2..<10].reduce(Int64(0)) { $0 << 8 | Int64($1) }
      for answer in [Answer.status(status, wait: wait), .status(503, wait: wait), .status(410, wait: wait)] {
        let outcomes = [answer.outcome, answer.outcomeForOthers].compactMap { $0 }
        try demand(
          outcomes.allSatisfy { (0...86_400_000).contains($0.retryAfter ?? 0) }, "the wait of \(answer)")
      }
    }
  }

  private static func checkEndpoint(_ url: String, allowing entries: [String]) throws(Violation) {
    do throws(Outcome) {
      let endpoint = try Endpoint(url)
      let host = endpoint.host
      let isSane =
        !host.isEmpty && isPrintable(host) && !host.contains { $0.isUppercase || " /@[]".contains($0) }
      let policy = try AddressPolicy(allowing: [])
      try endpoint.check(policy)
      _ = try? AddressPolicy(allowing: entries)  // accepted or refused: it must return
      if !isSane { throw .fail("violation", "\(url) has the host \(host.debugDescription)") }
      if let address = IPAddress(host), isPrivate(address) {
        throw .fail("violation", "\(url) may reach \(address)")
      }
      if policy.allows(IPAddress(bytes: [127, 0, 0, 1]), for: host) {
        throw .fail("violation", "\(url) may reach this machine")
      }
    } catch {
      if error.code == "violation" { throw Violation(description: error.message) }
    }
  }

  private static func checkSecrets(_ texts: [String]) throws(Violation) {
    do throws(Outcome) {
      let secrets = try SigningSecrets(texts)
      let body = UnsafeRawBufferPointer(start: nil, count: 0)
      let signatures = try secrets.signatures(id: "x", timestamp: 1, body: body).split(separator: " ")
      if signatures.count != texts.count || !signatures.allSatisfy({ $0.hasPrefix("v1,") && $0.count == 47 })
      {
        throw .fail("violation", "\(signatures)")
      }
    } catch {
      if error.code == "violation" { throw Violation(description: error.message) }
      let isTold = texts.contains { $0.count > 16 && error.message.contains($0.dropFirst(6)) }
      try demand(!isTold, "a secret in a message: \(error.message)")
    }
  }

  /// Some networks that are never public (RFC 6890).
  private static func isPrivate(_ address: IPAddress) -> Bool {
    let bytes = address.bytes
    if bytes.count == 16 {
      return bytes[0] & 0xFE == 0xFC || bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
        || bytes.dropLast().allSatisfy { $0 == 0 }
    }
    return [0, 10, 127].contains(bytes[0]) || bytes.starts(with: [192, 168])
      || bytes.starts(with: [169, 254])
      || bytes[0] == 172 && bytes[1] & 0xF0 == 16
  }
}
