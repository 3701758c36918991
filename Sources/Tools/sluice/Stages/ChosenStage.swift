import Configuration
import Glibc
import Pipeline
import Wire
import Workers
import Workbench

/// A stage named by its id or its plugin's file, with everything needed to run it alone.
struct ChosenStage {
  var description: StageDescription
  var digest: StageDefinition
  var search: PluginSearch

  /// - Parameter name: an id, or a path that holds a `/`.
  init(_ name: String, _ search: PluginSearch) throws {
    switch try Self.choose(name, search) {
    case .success(let chosen): self = chosen
    case .failure(let refusal):
      throw CommandError(
        .configuration,
        Terminal.printable(
          "stage '\(refusal.stage ?? "")': \(refusal.message); `sluice stages doctor` tells more"))
    }
  }

  private init(description: StageDescription, digest: StageDescription, _ search: PluginSearch) {
    self.description = description
    self.digest = StageDefinition(id: digest.id, description: digest, values: [])
    self.search = search
  }

  /// The stage, or why its plugin does not load.
  ///
  /// - Throws: why there is no such plugin, or no stage `digest`.
  static func choose(_ name: String, _ search: PluginSearch) throws -> Result<ChosenStage, Refusal> {
    let (id, file) = try plugin(name, search)
    var asked = [(id: id, file: file)]
    if id != "digest", let digest = search.file(of: "digest") { asked.append(("digest", digest)) }
    let described = search.describe(asked)
    let digest = try Environment.digest(described)
    guard let result = described[id] else {
      throw CommandError(.internalError, "stage '\(id)' was not described")
    }
    return result.map { ChosenStage(description: $0, digest: digest, search) }
  }

  /// The stage with options as `NAME=VALUE`.
  func definition(settings: [String]) throws(CommandError) -> StageDefinition {
    do throws(SettingsError) {
      let values = try StageSettings.values(settings, for: description)
      // Of a program that options name, these say what it is.
      let filled = description.filled(in: values, folder: Self.currentFolder)
      return StageDefinition(id: description.id, description: filled, values: values)
    } catch {
      throw CommandError(.usage, error.messages)
    }
  }

  /// Where relative paths of a program begin.
  private static var currentFolder: String {
    guard let path = realpath(".", nil) else { return "." }
    defer { free(path) }
    return String(cString: path)
  }

  /// The file of a program, which may be named by its folder; `nil`: it is none.
  private static func programFile(_ name: String) -> String? {
    let file = ProgramFile.isOne(name) ? name : "\(name)/\(StageFile.name)"
    guard let path = realpath(file, nil) else { return nil }
    defer { free(path) }
    return String(cString: path)
  }

  /// The plugin's id and file.
  static func plugin(_ name: String, _ search: PluginSearch) throws(CommandError) -> (
    id: String, file: String
  ) {
    if name.contains("/") || name == "." {
      let described = Self.programFile(name)
      if let described { return (PluginSearch.id(ofFile: described), described) }
      guard name.hasSuffix(".so") else {
        throw .usage(
          "'\(Terminal.printable(name))' is no plugin: those end in .so, or are a folder with a \(StageFile.name)"
        )
      }
      if access(name, F_OK) != 0 {
        throw .usage(
          "\(Terminal.printable(name)): \(String(cString: strerror(errno))); name a plugin's file, or a stage"
        )
      }
      return (PluginSearch.id(ofFile: name), name)
    }
    if let file = search.file(of: name) { return (name, file) }
    let near = Suggestion.remedy(for: name, among: search.all().map(\.id))
    let remedy = near.isEmpty ? "; `sluice stages list` shows those there are" : near
    let candidates: [String] = [name, "libsluice-\(name).so"]
    let beside = candidates.first { $0.hasSuffix(".so") && access($0, F_OK) == 0 }
    let file = beside.map { "; for the file write './\(Terminal.printable($0))'" }
    throw .usage("no stage '\(Terminal.printable(name))' is found\(file ?? remedy)")
  }
}
