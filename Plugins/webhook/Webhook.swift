import Outbound
import StageKit

/// Posts each event to an endpoint, signed by Standard Webhooks 1.0.0, at least once.
///
/// `process` begins with an event and returns; `turn` works on all that are under way, and settles each as soon as it has its
/// answer. `flush`, for hosts of contract 1.0, waits for all.
struct Webhook: Stage {
  static let about = About(
    id: "webhook", version: "1.0.0",
    summary: "Posts events to an endpoint, signed as Standard Webhooks asks.",
    capability: .network, role: .channel, flushes: true, turns: true,
    codes: [
      "endpoint-gone": "The endpoint answered 410: it wants no more events. The lane pauses.",
      "endpoint-refused": "The endpoint answered with another status than 2xx.",
      "unreachable": "There was no complete answer in time.",
      "address-not-allowed": "The endpoint's address is private, and `allow-private` does not name it.",
      "too-large": "The event has more bytes than a webhook may.",
      "unsigned": "OpenSSL did not sign the event.",
      "malformed-event": "There is no event, or its id cannot stand in a header.",
      "invalid-options": "An option's value is not usable; the message says why.",
    ])

  static let url = Option<String?>.text("url", help: "The endpoint, http or https.").required()
  static let secrets = Option<[String]>.texts(
    "secrets",
    help: "`whsec_` and base64 of 24 to 64 bytes; \(SigningSecrets.remedy). Two while one replaces the other."
  ).required()
  static let allowPrivate = Option<[String]>.texts(
    "allow-private",
    help: "Addresses, or the endpoint's host name, that may be private, loopback or this machine's own.")
  static let timeout = Option<Int64>.duration(
    "timeout", default: "15s", help: "How long the endpoint may take to answer; less than the channel's own."
  ).within(1...600_000)
  static let options: [any OptionDeclaration] = [url, secrets, allowPrivate, timeout]

  /// The largest body, in bytes: Standard Webhooks asks for less than 20 kB.
  private static let largestBody = 20_000

  private let secrets: SigningSecrets
  private let requests: Requests

  init(_ opening: Opening) throws(Outcome) {
    let endpoint = try Endpoint(opening[Self.url] ?? "")
    let policy = try AddressPolicy(
      allowing: opening[Self.allowPrivate], under: ["channels", opening.id, "options"])
    try endpoint.check(policy)
    secrets = try SigningSecrets(opening[Self.secrets])
    try CurlLibrary.prepareForSandbox()
    requests = try Requests(
      to: endpoint, policy: policy, certificates: endpoint.isSecure ? try Certificates() : nil,
      timeout: opening[Self.timeout])
  }

  mutating func process(_ attachment: Attachment) throws(Outcome) {
    guard let event = attachment.event else { throw .fail("malformed-event", "there is no event to deliver") }
    // A dot in the id would make signed texts ambiguous (Standard Webhooks, "Signature scheme"), and a
    // newline would begin another header.
    guard event.id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ".") }) else {
      throw .fail("malformed-event", "the event's id has a dot, a space or a character outside ASCII")
    }
    guard event.body.count <= Self.largestBody else {
      throw .fail("too-large", "\(event.body.count) bytes, and \(Self.largestBody) are allowed")
    }
    requests.add(attachment, event, signedWith: secrets)
  }

  mutating func turn(wake: Int32, for milliseconds: Int64) {
    for (attachment, outcome) in requests.turn(wake: wake, for: milliseconds, signedWith: secrets) {
      attachment.settle(outcome)
    }
  }

  mutating func flush() {
    while requests.isBusy { turn(wake: -1, for: 1000) }
  }
}

private let exported = Exported(Webhook.self)

/// The plugin's one exported function.
@c(webhook_stage)
public func webhook_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
