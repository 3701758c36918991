import Control
import Glibc
import Manifest

/// The files given to a command, and the options common to all of them. Shared by all commands that take
/// files in.
struct IntakeArguments {
  static let options =
    [
      CommandOption(
        name: "manifest", value: "FILE", help: "Take files from JSON lines; `-` is standard input.")
    ] + defaultOptions + [IntakeBound.option]

  /// What holds for all files of a command.
  static let defaultOptions = [
    CommandOption(
      name: "conversation", value: "ID", help: "The conversation the files belong to; else `default`."),
    CommandOption(name: "sender", value: "ID", help: "Who sends them; else `operator`."),
    CommandOption(name: "participants", value: "A,B", help: "Who takes part in the conversation."),
    CommandOption(name: "priority", value: "N", help: "Higher goes first; else 0."),
  ]

  let defaults: IntakeDefaults
  let paths: [[UInt8]]
  /// Where the files have to lie; `nil`: anywhere.
  let bound: IntakeBound?
  private let manifest: String?

  init(_ arguments: ParsedArguments, of command: String) throws(CommandError) {
    var defaults = try Self.defaults(arguments)
    if command == Fetch.configuration.name { try Fetch.complete(&defaults, arguments) }
    self.defaults = defaults
    bound = try IntakeBound(arguments)
    manifest = arguments.value("manifest")
    paths = ArgumentBytes.of(arguments.words)
    if manifest == nil && paths.isEmpty {
      throw .usage(
        "`sluice \(command)` needs a \(command == Fetch.configuration.name ? "LINK" : "PATH"), or --manifest FILE (`sluice \(command) --help` shows an example"
          + (command == "ingest" ? "); --manifest /dev/null only finishes what is queued" : ")"))
    }
    if manifest != nil && !paths.isEmpty { throw .usage("give paths or a manifest, not both") }
  }

  /// The values of ``defaultOptions``.
  static func defaults(_ arguments: ParsedArguments) throws(CommandError) -> IntakeDefaults {
    var defaults = IntakeDefaults()
    for (name, path) in [("conversation", \IntakeDefaults.conversationId), ("sender", \.senderId)] {
      guard let value = arguments.value(name) else { continue }
      if value.isEmpty || value.utf8.count > 256 { throw .usage("--\(name) has 1 to 256 bytes") }
      defaults[keyPath: path] = value
    }
    if let participants = arguments.value("participants") {
      defaults.participants = participants.split(separator: ",").map(String.init)
      if let long = defaults.participants.first(where: { $0.utf8.count > 256 }) {
        throw .usage("--participants holds an id of \(long.utf8.count) bytes, and 256 are allowed")
      }
    }
    defaults.namesSender = arguments.value("sender") != nil
    defaults.namesParticipants = arguments.value("participants") != nil
    defaults.priority = try arguments.integer("priority") ?? 0
    return defaults
  }

  /// The manifest, open; `nil`: paths were given.
  func reader() throws -> ManifestReader? {
    guard let manifest else { return nil }
    let isInput = manifest == "-"
    let descriptor = isInput ? dup(STDIN_FILENO) : open(manifest, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      throw CommandError.usage(
        "\(manifest): \(String(cString: strerror(errno))); give the manifest's path, or - for standard input")
    }
    return try ManifestReader(descriptor, name: isInput ? "standard input" : manifest)
  }
}
