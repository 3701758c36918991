import LedgerPort
import Manifest
import Platform

/// `sluice fetch`: queues links, and waits until all of them are fetched and have been through the pipeline.
struct Fetch: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "fetch", abstract: "Fetch links, and take what comes through the pipeline.", arguments: "LINK…",
    discussion: """
      The pipeline needs a lane for downloads: 'lanes: { downloads: { use: http } }'. With a running `sluice run` the links
      are handed to it, and the command returns when all have ended. Without one it works until the queue is empty, as
      `sluice ingest` does. A link that is fetched, or being fetched, is not asked for a second time. Of a link only the
      host is shown and recorded in plain; the rest is sealed. Words of a command line can be seen by other users of the
      machine: give secret links by --manifest.
      """,
    options: [
      .config, .trust, .home,
      CommandOption(
        name: "manifest", value: "FILE",
        help: "Take links from JSON lines with a `url`; `-` is standard input."),
      CommandOption(name: "now", help: "Before all others, which stand still meanwhile."),
      CommandOption(name: "name", value: "NAME", help: "The file's name; else the server's, or `download`."),
      CommandOption(name: "size", value: "BYTES", help: "How many bytes the content has."),
      CommandOption(name: "sha256", value: "DIGITS", help: "Its SHA-256; what has another is not taken."),
      expiresAt,
      CommandOption(
        name: "reference", value: "NAME",
        help: "Your own name for it, by which `sluice list --reference` finds it."),
      CommandOption(name: "message", value: "ID", help: "The message they belong to; else each is its own."),
      CommandOption(
        name: "credential", value: "NAME",
        help: "One under `credentials` in the pipeline; else that of the lane."),
    ] + IntakeArguments.defaultOptions + [
      CommandOption(
        name: "timeout", value: "10m", help: "Wait at most so long; then end with 75. They stay in the queue."
      ),
      .format, .quiet, .verbose, .noColor,
    ],
    example:
      "sluice fetch --sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 https://files.example.com/a.pdf"
  )

  static let expiresAt = CommandOption(
    name: "expires-at", value: "TIME",
    help: "Until when servers take the link, in UTC: 2026-01-31T08:00:00Z.")

  /// The options that are for one link, with the keys of a manifest that say the same.
  private static let ofOne = [
    ("name", "fileName"), ("size", "size"), ("sha256", "sha256"), ("expires-at", "expiresAt"),
    ("reference", "reference"),
  ]

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    // What is wrong may hold a secret, and is not shown.
    if let place = arguments.words.firstIndex(where: { !InputWalker.isLink($0) }) {
      throw .usage("word \(place + 1) is no link; give one such as https://files.example.com/a.pdf")
    }
    let isOne = arguments.words.count == 1
    for (option, key) in Self.ofOne where arguments.value(option) != nil && !isOne {
      throw .usage("option '--\(option)' is for one link; in a manifest each has its own `\(key)`")
    }
    // Whichever way it goes, what is wrong is told before anything is done.
    _ = try IntakeArguments(arguments, of: Self.configuration.name)
  }

  func run() throws -> ExitCode {
    if Environment.home(arguments).isInUse {
      return try Enqueue(arguments, of: Self.configuration.name, waits: true).run()
    }
    return try Ingest(arguments, of: Self.configuration.name).run()
  }

  /// What its options say of links.
  static func complete(_ defaults: inout IntakeDefaults, _ arguments: ParsedArguments) throws(CommandError) {
    if arguments.flag("now") {
      if arguments.value("priority") != nil { throw .usage("give --now or --priority, not both") }
      defaults.priority = TransferPriority.urgent
    }
    for (name, path) in [("message", \IntakeDefaults.messageId), ("reference", \.reference)] {
      guard let value = arguments.value(name) else { continue }
      if value.isEmpty || value.utf8.count > 256 { throw .usage("--\(name) has 1 to 256 bytes") }
      defaults[keyPath: path] = value
    }
    (defaults.fileName, defaults.credential) = (arguments.value("name"), arguments.value("credential"))
    defaults.size = try arguments.integer("size")
    if let size = defaults.size, size < 0 { throw .usage("option '--size' is 0 or more, not \(size)") }
    if let digits = arguments.value("sha256") {
      guard digits.utf8.count == 64, Hexadecimal.bytes(digits) != nil else {
        throw .usage("option '--sha256' has 64 hexadecimal digits")
      }
      defaults.sha256 = digits.lowercased()
    }
    if try expiry(arguments) != nil { defaults.expiresAt = arguments.value("expires-at") }
  }

  /// The time that ``expiresAt`` says, in milliseconds since 1970; `nil`: none is given.
  static func expiry(_ arguments: ParsedArguments) throws(CommandError) -> Int64? {
    guard let text = arguments.value("expires-at") else { return nil }
    // A day alone says no time.
    guard text.utf8.count > 10, let time = Clock.milliseconds(ofTimestamp: text) else {
      throw .usage("option '--expires-at' is a time in UTC such as 2026-01-31T08:00:00Z")
    }
    return time
  }
}
