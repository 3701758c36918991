import Outbound
import StageKit

/// Fetches links by http and https, several at a time, and goes on where an earlier attempt stopped if the server proves that
/// the file is the same.
struct HTTP: Source {
  static let about = About(
    id: "http", version: "1.0.0", summary: "Fetches content by http and https.",
    capability: .network, role: .source,
    keys: [
      "fileName":
        "The name that the server gives to the file (`Content-Disposition`), or else the link; cleaned.",
      "contentType": "What the server says the content is; not checked.",
    ],
    codes: [
      "too-large-to-fetch": "The content has more bytes than are allowed.",
      "gone": "The server does not have the content (404, 410).",
      "forbidden": "The server does not give the content (403).",
      "refused": "The server answered with a status that is not about content.",
      "expired": "The server says that the time of the link's signature, or of its token, is over.",
      "not-asked": "It was not asked for: its credential was refused while it waited.",
      "unauthorized":
        "The server wants a credential, or another one (401). With a credential, the lane pauses.",
      "address-not-allowed": "The address is private, and `allow-private` does not name it.",
      "host-not-allowed": "The host is not among `hosts`.",
      "redirect-refused": "A redirect leads from https to http, has no usable target, or there are too many.",
      "unreachable": "There was no connection, or no answer on it.",
      "connection-refused": "The host does not take connections.",
      "offline": "This machine has no route to the host, or to a name server. The lane pauses until it has.",
      "name-not-found": "The host's name has no address.",
      "tls-failed": "There was no secure connection to the host.",
      "timed-out": "The transfer took longer than `total-timeout`.",
      "stalled": "Nothing came for as long as `idle-timeout`, or less than 1 KiB.",
      "server-busy": "The server asks to try again later (408, 425, 429, 5xx).",
      "short-body": "The content broke off; what came is kept.",
      "size-mismatch": "The content has another length than was expected.",
      "encoded": "The answer is encoded (`Content-Encoding`), which was not asked for.",
      "bad-encoding": "The answer is not as `response` says.",
      "captive-portal": "The answer seems to come from the login page of a network.",
      "disk-full": "The disk is full, or a quota is used up. The lane pauses.",
      "invalid-link": "The link, its method or a header cannot be used; the message says why.",
      "changed": "The content changed again while it was fetched.",
      "malformed-answer": "The server's answer breaks the rules of HTTP.",
      "unwritable": "The system cannot write or sync the file.",
      "stopped": "The transfer was ended from outside; what came is kept.",
      "invalid-options": "An option's value is not usable; the message says why.",
    ])

  static let connections = Option<Int64>.integer(
    "connections", default: 256,
    help: "Transfers at a time, beside what the lane says; more wait, and those that are held do not count."
  ).within(1...256)
  static let perHost = Option<Int64>.integer(
    "per-host", default: 256, help: "Transfers at a time from one host and port, beside what the lane says."
  ).within(1...256)
  static let redirects = Option<Int64>.integer(
    "redirects", default: 5, help: "How many redirects are followed; those from https to http never are."
  ).within(0...20)
  static let hosts = Option<[String]>.texts(
    "hosts", help: "Names of hosts that may be asked, `*.name` for all below it; none: any.")
  static let allowPrivate = Option<[String]>.texts(
    "allow-private",
    help: "Addresses, or names of hosts, that may be private, loopback or this machine's own.")
  static let connectTimeout = Option<Int64>.duration(
    "connect-timeout", default: "10s", help: "How long a connection may take."
  ).within(1...600_000)
  static let idleTimeout = Option<Int64>.duration(
    "idle-timeout", default: "30s", help: "How long the server may send nothing, or less than 1 KiB."
  ).within(1...3_600_000)
  static let totalTimeout = Option<Int64>.duration(
    "total-timeout", default: "30m", help: "How long a transfer may take in all, without the time it is held."
  ).within(1...86_400_000)
  static let rate = Option<Int64>.bytes(
    "rate", default: "0B", help: "Bytes a second that all transfers may take together; 0B: no limit.")
  static let response = Option<String>.text(
    "response", default: "body",
    help: "Where the content is in the answer: `body`, `base64`, or `json:/pointer` to Base64 in JSON.")
  static let reuseConnections = Option<Bool>.boolean(
    "reuse-connections", default: true,
    help: "Whether a connection serves one request after the other; false: each has one of its own.")
  static let options: [any OptionDeclaration] = [
    connections, perHost, redirects, hosts, allowPrivate, connectTimeout, idleTimeout, totalTimeout, rate,
    response, reuseConnections,
  ]

  private let engine: Engine

  init(_ opening: Opening) throws(Outcome) {
    guard let form = ResponseForm(opening[Self.response]) else {
      throw .fail(
        "invalid-options",
        "response: '\(opening[Self.response])' is none of `body`, `base64`, `json:/pointer` (RFC 6901)")
    }
    var settings = Settings()
    settings.connections = Int(opening[Self.connections])
    settings.perHost = Int(opening[Self.perHost])
    settings.redirects = Int(opening[Self.redirects])
    settings.connectTimeout = opening[Self.connectTimeout]
    settings.idleTimeout = opening[Self.idleTimeout]
    settings.totalTimeout = opening[Self.totalTimeout]
    settings.rate = opening[Self.rate]
    settings.reusesConnections = opening[Self.reuseConnections]
    settings.form = form
    settings.admission = Admission(
      hosts: try HostPatterns(opening[Self.hosts], option: "hosts"),
      addresses: try AddressPolicy(allowing: opening[Self.allowPrivate], under: Self.place(of: opening.id)))
    try CurlLibrary.prepareForSandbox()
    engine = try Engine(settings, certificates: try Certificates())
  }

  /// Where its options stand in a pipeline file: in that of the lane, for it also fetches the keys of tokens.
  private static func place(of id: String) -> [String] {
    id == "downloads" ? ["lanes", id, "options"] : []
  }

  func start(_ transfer: Transfer) { engine.start(transfer) }
  func turn(wake: Int32, for milliseconds: Int64) { engine.turn(wake: wake, for: milliseconds) }
  func hold(_ transfer: Transfer.ID, _ isHeld: Bool) { engine.hold(transfer, isHeld) }
  func stop(_ transfer: Transfer.ID) { engine.stop(transfer) }
}

private let exported = Exported(HTTP.self)

/// The plugin's one exported function.
@c(http_stage)
public func http_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
