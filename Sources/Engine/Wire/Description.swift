import Pipeline

extension StageDescription {
  /// The description as a worker sends it.
  public var frame: [UInt8] {
    var writer = FrameWriter(.description)
    for text in [id, version, summary, abi] { writer.write(text) }
    writer.write(capability.rawValue)
    writer.write(Self.number(of: role))
    writer.write(flushes)
    writer.write(produces)
    writer.write(derives)
    writer.write(expands)
    writer.write(turns)
    writer.write(options) { writer, option in
      writer.write(option.name)
      writer.write(option.kind.rawValue)
      writer.write(option.shapes.rawValue)
      writer.write(option.required)
      writer.write(option.fallback)
      writer.write(option.help)
      writer.write(option.choices) { $0.write($1) }
      writer.write(option.range != nil)
      writer.write(option.range?.lowerBound ?? 0)
      writer.write(option.range?.upperBound ?? 0)
    }
    for terms in [keys, codes] {
      writer.write(terms) { writer, term in
        writer.write(term.name)
        writer.write(term.help)
      }
    }
    return writer.bytes
  }

  private static let roles: [Role] = [.line, .end, .channel, .source]

  private static func number(of role: Role) -> UInt8 {
    switch role {
    case .line: 0
    case .end: 1
    case .channel: 2
    case .source: 3
    }
  }

  /// Reads what follows the kind.
  public init(_ reader: inout FrameReader, file: String) throws(FrameError) {
    self.init(
      id: try reader.requiredText(atMost: 128), version: try reader.requiredText(atMost: 128),
      summary: try reader.requiredText(atMost: 4096), file: file)
    abi = try reader.requiredText(atMost: 32)
    guard let capability = Capability(rawValue: try reader.integer(UInt32.self)) else {
      throw FrameError("the plugin asks for a capability this version does not know")
    }
    self.capability = capability
    let number = try reader.integer(UInt8.self)
    guard let role = Self.roles.first(where: { Self.number(of: $0) == number }) else {
      throw FrameError("the plugin has a role this version does not know")
    }
    self.role = role
    flushes = try reader.boolean()
    produces = try reader.boolean()
    derives = try reader.boolean()
    expands = try reader.boolean()
    turns = try reader.boolean()
    options = try reader.elements(atMost: 256) { (reader) throws(FrameError) -> OptionDescription in
      let name = try reader.requiredText(atMost: 128)
      guard let kind = OptionDescription.Kind(rawValue: try reader.integer(UInt32.self)) else {
        throw FrameError("option '\(name)' has a type this version does not know")
      }
      let shapes = OptionDescription.Shapes(rawValue: try reader.integer(UInt32.self))
      let required = try reader.boolean()
      let fallback = try reader.text(atMost: 4096)
      var option = OptionDescription(
        name: name, kind: kind, shapes: shapes, help: try reader.requiredText(atMost: 4096))
      option.required = required
      option.fallback = fallback
      option.choices = try reader.elements(atMost: 256) { (reader) throws(FrameError) -> String in
        try reader.requiredText(atMost: 256)
      }
      let ranged = try reader.boolean()
      let lower = try reader.integer(Int64.self)
      let upper = try reader.integer(Int64.self)
      if ranged {
        guard lower <= upper else { throw FrameError("option '\(name)' has its bounds the wrong way round") }
        option.range = lower...upper
      }
      return option
    }
    func terms(_ reader: inout FrameReader) throws(FrameError) -> [Term] {
      try reader.elements(atMost: 512) { (reader) throws(FrameError) -> Term in
        Term(name: try reader.requiredText(atMost: 128), help: try reader.requiredText(atMost: 4096))
      }
    }
    keys = try terms(&reader)
    codes = try terms(&reader)
    try reader.end()
  }
}
