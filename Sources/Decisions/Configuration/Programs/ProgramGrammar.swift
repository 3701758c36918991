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
    Setting(
      Grammar.key("command", .text, [.one, .list], required: true, "The program and its arguments.")
    ) { $0.command.append($1.text) },
    Setting(
      Grammar.key(
        "reads", .text, [.one, .list],
        "Files and folders that it may read, beside its own and what interpreters are installed with.")
    ) { $0.reads.append($1.text) },
    Setting(
      Grammar.key(
        "processes", .integer, range: Program.processLimits, example: "1",
        "Processes and threads of it at once; with 1 it may start threads only.")
    ) { $0.processes = Int($1.integer) },
    Setting(
      Grammar.key(
        "max-content", .bytes, range: Program.maxContentLimits,
        example: ByteSize.text(Program.standardMaxContent),
        "The largest content that it is given: a copy in memory.")
    ) { $0.maxContent = $1.integer },
    Setting(Grammar.key("produces", .boolean, example: "false", "Whether it may replace the content.")) {
      $0.produces = $1.integer != 0
    },
    Setting(
      Grammar.key(
        "derives", .boolean, example: "false", "Whether it may leave objects beside the content.")
    ) { $0.derives = $1.integer != 0 },
    Setting(
      Grammar.key(
        "expands", .boolean, example: "false", "Whether it may take contents out of the content.")
    ) { $0.expands = $1.integer != 0 },
  ]

  /// The code that every program has.
  static let tooLarge = StageDescription.Term(
    name: Program.tooLarge, help: "The content is larger than 'max-content'.")
}
