import Pipeline

/// What is said of a program that is a stage: as options of `use: exec`, or as keys of its `stage.yaml`.
enum ProgramGrammar {
  /// A program as it is put together from what is given.
  struct Given {
    var command: [String] = []
    var reads: [String] = []
    var processes = 1
    var maxContent = Program.standardMaxContent
    var produces = false
    var derives = false
    var expands = false
    let folder: String

    init(folder: String) {
      self.folder = folder
    }

    var program: Program {
      var program = Program(command: command, folder: folder)
      program.reads = reads
      program.processes = processes
      program.maxContent = maxContent
      return program
    }
  }

  static let settings: [Setting<Given>] = [
    Setting(key("command", .text, "The program and its arguments.", shapes: [.one, .list], isRequired: true))
    {
      $0.command.append($1.text)
    },
    Setting(
      key(
        "reads", .text,
        "Files and folders that it may read, beside its own and what interpreters are installed with.",
        shapes: [.one, .list])
    ) { $0.reads.append($1.text) },
    Setting(
      key(
        "processes", .integer, "Processes and threads of it at once; with 1 it may start threads only.",
        fallback: "1", range: Program.processLimits)
    ) { $0.processes = Int($1.integer) },
    Setting(
      key(
        "max-content", .bytes, "The largest content that it is given: a copy in memory.",
        fallback: ByteSize.text(Program.standardMaxContent), range: Program.maxContentLimits)
    ) { $0.maxContent = $1.integer },
    Setting(key("produces", .boolean, "Whether it may replace the content.", fallback: "false")) {
      $0.produces = $1.integer != 0
    },
    Setting(
      key("derives", .boolean, "Whether it may leave objects beside the content.", fallback: "false")
    ) { $0.derives = $1.integer != 0 },
    Setting(
      key("expands", .boolean, "Whether it may take contents out of the content.", fallback: "false")
    ) { $0.expands = $1.integer != 0 },
  ]

  /// The code that every program has.
  static let tooLarge = StageDescription.Term(
    name: Program.tooLarge, help: "The content is larger than 'max-content'.")

  private static func key(
    _ name: String, _ kind: OptionDescription.Kind, _ help: String, shapes: OptionDescription.Shapes = .one,
    fallback: String? = nil, range: ClosedRange<Int64>? = nil, isRequired: Bool = false
  ) -> OptionDescription {
    var key = OptionDescription(name: name, kind: kind, shapes: shapes, help: help)
    key.fallback = fallback
    key.range = range
    key.required = isRequired
    return key
  }
}
