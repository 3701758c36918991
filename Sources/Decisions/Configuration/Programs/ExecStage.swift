import Pipeline

extension StageDescription {
  /// The stage that is any program, as the options of `use: exec` name it.
  public static let exec: StageDescription = {
    var stage = StageDescription(
      id: "exec", version: "1.0.0", summary: "Asks a program of any language, over lines of JSON.",
      file: "exec")
    stage.abi = "1.1"
    (stage.produces, stage.derives, stage.expands) = (true, true, true)
    stage.options = ProgramGrammar.settings.map(\.key) + [execKeys, execCodes]
    stage.codes = [ProgramGrammar.tooLarge]
    return stage
  }()

  /// Whether it is a part of this program, and has no file.
  public var isBuiltIn: Bool { id == Self.exec.id && file == Self.exec.file }

  private static let execKeys = option(
    "keys", "The keys of metadata that the program records; one that ends in `*` stands for all it begins.")
  private static let execCodes = option("codes", "The codes that the program gives.")

  private static func option(_ name: String, _ help: String) -> OptionDescription {
    OptionDescription(name: name, kind: .text, shapes: [.one, .list], help: help)
  }

  /// For `exec`: what these options make of it. For any other it is the same.
  ///
  /// - Parameter folder: where relative paths begin.
  public func filled(in values: [OptionValue], folder: String) -> StageDescription {
    guard isBuiltIn else { return self }
    var stage = self
    func texts(_ name: String) -> [String] { values.filter { $0.name == name }.map(\.text) }
    var given = ProgramGrammar.Given(folder: folder)
    for value in values {
      ProgramGrammar.settings.first { $0.name == value.name }?.apply(&given, value)
    }
    (stage.produces, stage.derives, stage.expands) = (given.produces, given.derives, given.expands)
    stage.program = given.program
    stage.keys = texts(Self.execKeys.name).map { Term(name: $0, help: "") }
    stage.codes = texts(Self.execCodes.name).map { Term(name: $0, help: "") } + [ProgramGrammar.tooLarge]
    return stage
  }
}
