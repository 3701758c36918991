import Pipeline

/// The keys of a pipeline file, each declared like a stage's option: one reader checks both.
enum Grammar {
  static let top =
    [
      version.name, plugins.name, "stages", "channels", "lanes", "credentials", "retry", "keep", "expand",
      "secrets", "serve",
    ]
    + settings.map(\.name)
  static let stage = [use, id, when].map(\.name) + ["options"] + stageSettings.map(\.name)
  static let channel = [use.name, "options", "retry"] + channelSettings.map(\.name)
  static let lane =
    [use.name, "options", "retry", prefetch] + channelSettings.map(\.name) + laneSettings.map(\.name)
  static let retry = [attempts, backoff, max].map(\.name)

  static let version = key(
    "version", .integer, required: true, example: "1", "The version of this format: 1.")
  static let plugins = key(
    "plugins", .text, .list, example: "./plugins",
    "More folders to search for plugins; relative ones are taken from the folder of this file.")
  static let memoryTotal = Setting<PipelineDefinition>(
    key(
      "memory-total", .bytes, range: (1 << 20)...(64 << 40), example: "1GB",
      "Memory for new content over all attachments; else a quarter of what this machine, or its control group, has."
    )
  ) { $0.memoryTotal = $1.integer }

  /// The settings at the top of the file.
  static let settings: [Setting<PipelineDefinition>] = [
    Setting("sandbox", "What to do where the kernel lacks a part of the sandbox.") { $0.sandbox = $1 },
    Setting(
      key(
        "workers", .integer, range: 1...256, example: "2",
        "Worker processes of each kind that parse content; else as many as there are processors.")
    ) { $0.workers = Int($1.integer) },
    memoryTotal,
    Setting(
      "reuse",
      "Whether what stages said of equal content stands in for running them again, where they promise to repeat it."
    ) { $0.reuse = $1 },
    Setting(
      "turns",
      "Whose attachments take turns, so that the many of one do not hold up the few of another."
    ) { $0.turns = $1 },
  ]

  static let attempts = key(
    "attempts", .integer, range: 1...100, example: "3", "Tries in all, the first included.")
  static let backoff = key(
    "backoff", .duration, range: 0...day, example: "1s",
    "The wait before the second try; it doubles from try to try.")
  static let max = key("max", .duration, range: 0...day, example: "1m", "The longest wait.")

  /// How long attachments are kept, by status; and how many bytes.
  static let keep: [Setting<KeepRules>] =
    Status.allCases.filter(\.isFinal).map { status in
      Setting(
        key(
          status.rawValue, .duration, range: 1000...(36_500 * day), example: "90d",
          "How long one that is \(status.rawValue) is kept since it ended; else for ever.")
      ) { $0.ages[status] = $1.integer }
    } + [
      Setting(
        key(
          "bytes", .bytes, range: (1 << 20)...(1 << 60), example: "500GB",
          "Bytes of completed attachments that are kept; beyond that the oldest are deleted.")
      ) { $0.bytes = $1.integer }
    ]

  /// What is allowed of contents that are taken out of contents.
  static let expand: [Setting<ExpandRules>] = {
    let standard = ExpandRules()
    return [
      Setting(
        key(
          "depth", .integer, range: 0...50, example: "3",
          "Levels of contents inside contents below what was taken in; else \(standard.depth).")
      ) { $0.depth = $1.integer },
      Setting(
        key(
          "contents", .integer, range: 0...Int64(Piece.mostChildren), example: "1000",
          "Attachments that may come out of one that was taken in, at all levels; else \(standard.contents).")
      ) { $0.contents = $1.integer },
      Setting(
        key(
          "bytes", .bytes, range: 0...(1 << 50), example: "1GB",
          "Bytes that these may have in all; else \(ByteSize.text(standard.bytes)).")
      ) { $0.bytes = $1.integer },
      Setting(
        key(
          "time", .duration, range: 1...(365 * day), example: "10m",
          "How long stages may work on these in all; else 1h.")
      ) { $0.time = $1.integer },
      Setting(
        key(
          "wait", .boolean, example: "true",
          "Whether an attachment ends after all that was taken out of it has ended, or at once.")
      ) { $0.waits = $1.integer != 0 },
    ]
  }()

  static let listen = key(
    "listen", .text, [.one, .list], example: "127.0.0.1:8080",
    "Where it listens; else 127.0.0.1:8080. Also `[::1]:8080`, `unix:/path`, or `systemd` for sockets that it made."
  )

  static let trustProxy = key(
    "trust-proxy", .text, [.one, .list], example: "127.0.0.1",
    "Addresses of proxies in front of it, or networks: 10.0.0.0/8. What they say of a client's address is believed."
  )
  static let origins = key(
    "origins", .text, [.one, .list], example: "https://app.example.com",
    "Origins of pages that may ask from elsewhere (CORS).")
  static let originHeaders = key(
    "origin-headers", .text, [.one, .list], example: "X-App-Version",
    "Header fields that such pages may send, beside those that Sluice takes.")
  static let publicURL = key(
    "public-url", .text, example: "https://files.example.com",
    "Where clients find it; links and places that it gives out begin so.")

  /// What holds for clients where the file does not say.
  private static let clients = ServeRules()

  /// Who signs tokens.
  static let identity: [Setting<ServeRules.Identity>] = [
    Setting(
      key(
        "issuer", .text, required: true, example: "https://id.example.com",
        "What the claim `iss` of a token must be.")
    ) { $0.issuer = $1.text },
    Setting(
      key("audience", .text, required: true, example: "sluice", "What the claim `aud` must be, or have.")
    ) { $0.audience = $1.text },
    Setting(
      key(
        "keys", .text, required: true, example: "/etc/sluice/jwks.json",
        "The file with its public keys (a JWK set), relative to the home; or an https link to them.")
    ) { $0.keys = $1.text },
  ]

  static let identityPrivate = key(
    "allow-private", .text, .list, example: "10.0.0.7",
    "Addresses, or the host's name, that may be private, loopback or this machine's own, where `keys` is a link."
  )

  /// What holds for a door where the file does not say.
  private static let door = ServeRules.ClamdDoor()

  /// Doors for clients of ClamAV's daemon.
  static let clamd: [Setting<ServeRules.ClamdDoor>] = [
    Setting(
      key(
        "listen", .text, required: true, example: "unix:/run/sluice/clamd.sock",
        "Where it listens: `unix:/path`, or `127.0.0.1:3310`.")
    ) { $0.listen = $1.text },
    Setting(
      key(
        "pipeline", .text, example: "mail.yaml",
        "The pipeline file whose line judges, from the folder of this one; else this one.")
    ) { $0.pipeline = $1.text },
    Setting(
      key(
        "max-size", .bytes, range: 1...(4 << 30), example: "25MB",
        "A content may have so many bytes; else \(ByteSize.text(door.maxSize)).")
    ) { $0.maxSize = $1.integer },
    Setting(
      "unknown",
      "What clients are told of a content that was not decided: required, since they differ in what they make of an error."
    ) { (door, unknown: ServeRules.ClamdDoor.Unknown) in door.unknown = unknown },
    Setting(
      "record",
      "Which contents are put on record, as attachments of the conversation 'clamd' without an object; `found`: those that are "
        + "not clean; else none."
    ) { (door, record: ServeRules.ClamdDoor.Record) in door.record = record },
  ]

  static let serveKeys = [listen, trustProxy, publicURL, origins, originHeaders] + serve.map(\.key)

  /// What clients may do.
  static let serve: [Setting<ServeRules>] = [
    Setting(
      key(
        "connections", .integer, range: 1...100_000, example: "10000",
        "Connections at once; else \(clients.connections).")
    ) { $0.connections = Int($1.integer) },
    Setting(
      key(
        "per-address", .integer, range: 1...100_000, example: "200",
        "Of these, from one address; else \(clients.perAddress).")
    ) { $0.perAddress = Int($1.integer) },
    Setting(
      key(
        "max-size", .bytes, range: 1...(1 << 40), example: "10MB",
        "An upload may have so many bytes; else \(ByteSize.text(clients.maxSize)).")
    ) { $0.maxSize = $1.integer },
    Setting(
      key(
        "max-image-size", .bytes, range: 1...(1 << 40), example: "2MB",
        "One that calls itself an image; else \(ByteSize.text(clients.maxImageSize)).")
    ) { $0.maxImageSize = $1.integer },
    Setting(
      key(
        "uploads", .integer, range: 1...10_000, example: "20",
        "Uploads of a user that are not whole, at once; else \(clients.uploads).")
    ) { $0.uploads = Int($1.integer) },
    Setting(
      key(
        "upload-time", .duration, range: 60_000...(30 * day), example: "24h",
        "How long an upload may take; else \(Interval.text(clients.uploadTime)).")
    ) { $0.uploadTime = $1.integer },
    Setting(
      "uploads-by",
      "Who begins uploads, and sends contents and links: everyone, or services, and users only go on with what a service began."
    ) { $0.uploadsBy = $1 },
    Setting(
      key(
        "messages", .boolean, example: "true",
        "Whether people write to each other: conversations, messages, receipts.")
    ) { $0.messages = $1.integer != 0 },
    Setting(
      key(
        "presence", .boolean, example: "false",
        "Whether people who write to each other see who is online and who types; else true.")
    ) { $0.presence = $1.integer != 0 },
    Setting(
      "conversations-by",
      "Who begins conversations and says who takes part: everyone, or services, and users only write and read."
    ) { $0.conversationsBy = $1 },
    Setting(
      "accounts",
      "Who makes accounts, with an address and a password: nobody, services, or everyone, and people sign up by themselves."
    ) { $0.accounts = $1 },
    Setting(
      key(
        "upload-draft", .boolean, example: "true",
        "Whether uploads also speak the IETF's draft of resumable uploads, as apps of iOS and macOS do.")
    ) { $0.uploadDraft = $1.integer != 0 },
    Setting(
      key(
        "access-log", .text, example: "access.log",
        "A file, relative to the home, for a line of JSON about each request; `-` is standard output.")
    ) { $0.accessLog = $1.text },
  ]

  static let keyExample = "credential:sluice-key"

  /// Where the keys lie that seal what is secret.
  static let masterKey = key(
    "key", .text, example: keyExample,
    "Where the key lies: `credential:NAME` of systemd, `file:/path` or `env:NAME`; else in the home's `sluice.key`."
  )
  static let olderKeys = key(
    "old", .text, .list, example: "file:/etc/sluice/old.key",
    "Where older keys lie, which only open what they sealed.")

  static let use = key("use", .text, required: true, example: "mime", "The plugin.")
  static let id = key(
    "id", .text, example: "first-pdf", "The stage's name in this pipeline; else that of the plugin.")
  static let when = key(
    "when", .mediaType, [.one, .list], example: "application/pdf",
    "Media types, with `*`, that the stage runs for; else it always runs.")

  /// What holds where the file does not say.
  private static let standard = StageDefinition(
    id: "", description: StageDescription(id: "", version: "", summary: "", file: ""), values: [])

  static let timeout = Setting<StageDefinition>(
    key(
      "timeout", .duration, range: 1...day, example: "30s",
      "Wall clock for one attachment; else \(Interval.text(standard.timeout)).")
  ) { $0.timeout = $1.integer }
  static let memory = Setting<StageDefinition>(
    key(
      "memory", .bytes, range: (16 << 20)...(64 << 30), example: "256MB",
      "What it may allocate; else \(ByteSize.text(standard.memory)).")
  ) { $0.memory = $1.integer }

  static let isolation = Setting<StageDefinition>(
    "isolation", "`worker`: a process takes one attachment after the other; `fresh`: each gets its own."
  ) { $0.isolation = $1 }

  static let remedies: [Setting<StageDefinition>] = [
    remedy("on-timeout", "it takes longer than `timeout`; else \(standard.onTimeout)") { $0.onTimeout = $1 },
    remedy("on-limit", "it overruns `memory` or `output`; else \(standard.onLimit)") { $0.onLimit = $1 },
    remedy("on-crash", "it crashes; else \(standard.onCrash)") { $0.onCrash = $1 },
  ]

  /// The settings of every stage, beside the options of its plugin.
  static let stageSettings: [Setting<StageDefinition>] =
    [
      timeout, memory,
      Setting(
        key(
          "output", .bytes, range: 0...(1 << 40), example: "64MB",
          "New content it may write; else \(ByteSize.text(standard.output)).")
      ) { $0.output = $1.integer },
      isolation,
    ] + remedies
  /// Those of every channel.
  static let channelSettings = [timeout, memory]

  /// What holds of the lane of downloads where the file does not say.
  private static let lanes = DownloadsDefinition(stage: standard)

  /// Those of the lane of downloads.
  static let laneSettings: [Setting<DownloadsDefinition>] = [
    Setting(
      key(
        "connections", .integer, range: 1...256, example: "8",
        "Transfers under way at once; else \(lanes.connections).")
    ) { $0.connections = Int($1.integer) },
    Setting(
      key(
        "per-host", .integer, range: 1...256, example: "4",
        "Of these, to one host and port; else \(lanes.perHost).")
    ) { $0.perHost = Int($1.integer) },
    Setting(
      key(
        "max-size", .bytes, range: 0...(1 << 40), example: "50MB",
        "The content of a link may have so many bytes; else \(ByteSize.text(lanes.maxSize)).")
    ) { $0.maxSize = $1.integer },
    Setting(
      key(
        "min-free", .bytes, range: 0...(1 << 50), example: "1GB",
        "So much stays free in the home, or the lane pauses; else \(ByteSize.text(lanes.minFree)).")
    ) { $0.minFree = $1.integer },
    Setting(
      key(
        "credential", .text, example: "files",
        "The name under `credentials` of what is said to hosts where a link names none; else nothing is.")
    ) { $0.credential = $1.text },
    Setting(
      "only-while",
      "`attended`: links are fetched while a client waits for one, or watches the queue; else \(lanes.onlyWhile)."
    ) { $0.onlyWhile = $1 },
    Setting(schedule) { $0.schedule = Timetable($1.text) },
  ]

  static let schedule = key(
    "schedule", .text, example: "mon-fri 22:00-06:00, sat-sun 00:00-24:00",
    "When links are fetched, in local time; else at any time.")

  static let prefetch = "prefetch"
  static let prefetchMessages = key(
    "messages", .integer, range: 1...10_000, required: true, example: "50",
    "Of so many messages of each conversation, the newest that have links, these are fetched by themselves.")

  static let header = key(
    "header", .text, required: true, example: "authorization: Bearer ${FILES_TOKEN}",
    "A header for each request to these hosts: a secret.")
  static let hosts = key(
    "hosts", .text, .list, required: true, example: "files.example.com",
    "The hosts that get it; `*.example.com` for all below that.")
  /// Of whose session it is, and what becomes of that.
  static let credentialSettings: [Setting<Credential>] = [
    Setting(
      key(
        "owner", .text, example: "ann",
        "The participant whose session it is: where a server answers 401, this user is told.")
    ) { $0.owner = $1.text },
    Setting(
      "on-401", "`sign-out`: where a server answers 401, all tokens of the owner are revoked; else `pause`."
    ) { $0.on401 = $1 },
  ]
  static let credential = [header, hosts].map(\.name)

  private static func remedy(
    _ name: String, _ when: String, _ apply: @escaping @Sendable (inout StageDefinition, Remedy) -> Void
  ) -> Setting<StageDefinition> {
    Setting(name, "What becomes of an attachment when \(when).", apply)
  }

  /// Whether a text is a valid name of a stage or a channel.
  static func isName(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  /// The limit for all waits and timeouts: a day, in milliseconds.
  private static let day: Int64 = 86_400_000

  /// - Parameter example: for the schema; of a program's keys, the default.
  static func key(
    _ name: String, _ kind: OptionDescription.Kind, _ shapes: OptionDescription.Shapes = .one,
    range: ClosedRange<Int64>? = nil, required: Bool = false, example: String? = nil, _ help: String
  ) -> OptionDescription {
    var key = OptionDescription(name: name, kind: kind, shapes: shapes, help: help)
    key.range = range
    key.required = required
    key.fallback = example
    return key
  }
}
