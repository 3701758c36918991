import Pipeline

/// The configuration of a worker: the stages it opens, in order, and its sandbox.
public struct Setup: Sendable, Equatable {
  public var stages: [StageDefinition]
  public var sandbox: SandboxPolicy
  public var capability: StageDescription.Capability
  /// Bytes of new content that each piece of work may write; -1: no limit.
  public var output: Int64
  /// The worker sends every call of its stages as it happens.
  public var isTraced = false
  /// How often each stage is opened and closed on trial before it is opened for work; see ``Ready/leaked``.
  public var trialOpenings: UInt32 = 0
  /// A name of an option that a stage looks for and does not declare is a complaint. For that it is handed an
  /// option of a strange name, so that the worker is for nothing else.
  public var watchesNames = false

  public init(
    stages: [StageDefinition], sandbox: SandboxPolicy, capability: StageDescription.Capability, output: Int64
  ) {
    self.stages = stages
    self.sandbox = sandbox
    self.capability = capability
    self.output = output
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.setup)
    writer.write(sandbox.rawValue)
    writer.write(capability.rawValue)
    writer.write(output)
    writer.write(isTraced)
    writer.write(trialOpenings)
    writer.write(watchesNames)
    writer.write(stages) { writer, stage in
      writer.write(stage.id)
      writer.write(stage.description.id)
      writer.write(stage.description.file)
      writer.write(stage.memory)
      writer.write(stage.conditions) { $0.write($1.description) }
      writer.write(stage.values) { writer, value in
        writer.write(value.name)
        writer.write(value.key)
        writer.write(value.text)
        writer.write(value.integer)
        writer.write(value.number)
      }
      writer.write(stage.output)
      writer.write(stage.description.program != nil)
      if let program = stage.description.program { Self.write(program, of: stage.description, to: &writer) }
    }
    return writer.bytes
  }

  /// Why no worker can be told all of it; `nil`: it fits.
  public var excess: String? {
    let size = frame.count
    guard size > Frame.limit else { return nil }
    let isProgram = stages.contains { $0.description.program != nil }
    return
      "what a worker is told of \(stages.map(\.id).joined(separator: ", ")) comes to \(size) bytes, and \(Frame.limit) "
      + "are allowed, in which "
      + (isProgram
        ? "a command counts twice; put a long program into a file that 'command' names"
        : "all options count; shorten them")
  }

  /// Reads what follows the kind.
  public init(_ reader: inout FrameReader) throws(FrameError) {
    guard let sandbox = SandboxPolicy(rawValue: try reader.requiredText(atMost: 16)),
      let capability = StageDescription.Capability(rawValue: try reader.integer(UInt32.self))
    else { throw FrameError("unknown sandbox policy or capability") }
    self.sandbox = sandbox
    self.capability = capability
    output = try reader.integer(Int64.self)
    isTraced = try reader.boolean()
    trialOpenings = try reader.integer(UInt32.self)
    watchesNames = try reader.boolean()
    stages = try reader.elements(atMost: 64) { (reader) throws(FrameError) -> StageDefinition in
      let id = try reader.requiredText(atMost: 256)
      let description = StageDescription(
        id: try reader.requiredText(atMost: 256), version: "", summary: "",
        file: try reader.requiredText(atMost: 4096))
      let memory = try reader.integer(Int64.self)
      let conditions = try reader.elements(atMost: 256) { (reader) throws(FrameError) -> MediaTypePattern in
        guard let pattern = MediaTypePattern(try reader.requiredText(atMost: 256)) else {
          throw FrameError("not a media type pattern")
        }
        return pattern
      }
      let values = try reader.elements(atMost: 4096) { (reader) throws(FrameError) -> OptionValue in
        OptionValue(
          name: try reader.requiredText(atMost: 256), key: try reader.text(atMost: 256),
          text: try reader.requiredText(atMost: 65536), integer: try reader.integer(Int64.self),
          number: try reader.number())
      }
      var stage = StageDefinition(id: id, description: description, values: values)
      stage.memory = memory
      stage.conditions = conditions
      stage.output = try reader.integer(Int64.self)
      if try reader.boolean() { try Self.readProgram(into: &stage.description, &reader) }
      return stage
    }
    try reader.end()
  }

  // MARK: Programs: what else a worker has to know of one, where a plugin's library tells it

  private static func write(
    _ program: Program, of description: StageDescription, to writer: inout FrameWriter
  ) {
    writer.write(program.command) { $0.write($1) }
    writer.write(program.folder)
    writer.write(program.reads) { $0.write($1) }
    writer.write(UInt32(program.processes))
    writer.write(program.maxContent)
    writer.write(description.produces)
    writer.write(description.derives)
    writer.write(description.expands)
    writer.write(description.version)
    writer.write(description.options) { writer, option in
      writer.write(option.name)
      writer.write(option.kind.rawValue)
      writer.write(option.shapes.rawValue)
    }
    writer.write(description.keys) { $0.write($1.name) }
    writer.write(description.codes) { $0.write($1.name) }
  }

  private static func readProgram(
    into description: inout StageDescription, _ reader: inout FrameReader
  ) throws(FrameError) {
    func texts(_ reader: inout FrameReader, atMost count: Int, of length: Int) throws(FrameError) -> [String]
    {
      try reader.elements(atMost: count) { (reader) throws(FrameError) in
        try reader.requiredText(atMost: length)
      }
    }
    var program = Program(
      command: try texts(&reader, atMost: 4096, of: 65536), folder: try reader.requiredText(atMost: 4096))
    program.reads = try texts(&reader, atMost: 4096, of: 65536)
    program.processes = Int(try reader.integer(UInt32.self))
    program.maxContent = try reader.integer(Int64.self)
    description.program = program
    description.produces = try reader.boolean()
    description.derives = try reader.boolean()
    description.expands = try reader.boolean()
    description.version = try reader.requiredText(atMost: 65536)
    description.options = try reader.elements(atMost: 4096) {
      (reader) throws(FrameError) -> OptionDescription in
      let name = try reader.requiredText(atMost: 256)
      guard let kind = OptionDescription.Kind(rawValue: try reader.integer(UInt32.self)) else {
        throw FrameError("an option of a type that is none")
      }
      let shapes = OptionDescription.Shapes(rawValue: try reader.integer(UInt32.self))
      return OptionDescription(name: name, kind: kind, shapes: shapes, help: "")
    }
    description.keys = try texts(&reader, atMost: 4096, of: 65536).map { .init(name: $0, help: "") }
    description.codes = try texts(&reader, atMost: 4096, of: 65536).map { .init(name: $0, help: "") }
  }
}
