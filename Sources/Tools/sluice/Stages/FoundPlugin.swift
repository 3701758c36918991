import Configuration
import Pipeline
import Platform
import Wire
import Workers

/// A plugin's file, and its description as read by a worker.
struct FoundPlugin {
  var id: String
  var file: String
  var result: Result<StageDescription, Refusal>

  /// Why it does not load; `nil`: it does.
  var problem: String? {
    if case .failure(let refusal) = result { refusal.message } else { nil }
  }

  /// Describes these files, by id.
  static func found(_ files: [(id: String, file: String)], _ search: PluginSearch) -> [FoundPlugin] {
    let described = search.describe(files)
    return files.compactMap { file in
      described[file.id].map { FoundPlugin(id: file.id, file: file.file, result: $0) }
    }.sorted { $0.id < $1.id }
  }

  // MARK: For people

  /// Two lines for each plugin: the description, and the path.
  static func table(_ plugins: [FoundPlugin], _ style: Style) -> String {
    let width = plugins.map(\.id.count).max() ?? 0
    let indent = String(repeating: " ", count: width)
    return plugins.map { plugin in
      let head = Help.pad(Terminal.printable(plugin.id), width)
      switch plugin.result {
      case .success(let stage):
        return
          "\(head)  \(Help.pad(Terminal.printable(stage.version), 7))  \(Help.pad(stage.capability.name, 7))  "
          + "\(Help.pad(stage.role.name, 7))  \(Terminal.printable(stage.summary))\n"
          + "\(indent)  \(stage.isBuiltIn ? "built in" : Terminal.printable(plugin.file))\n"
      case .failure(let refusal):
        return "\(head)  \(style.word("wrong")): \(Terminal.printable(refusal.message))\n"
      }
    }.joined()
  }

  // MARK: For programs

  var json: String {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.text + "\n"
  }

  func write(to writer: inout JSONWriter) {
    let stage = try? result.get()  // the JSON has a separate member for the problem
    writer.object { writer in
      writer.member("record", "plugin")
      writer.member("id", id)
      writer.member("file", file)
      writer.member("version", stage?.version)
      writer.member("capability", stage?.capability.name)
      writer.member("role", stage?.role.name)
      writer.member("summary", stage?.summary)
      writer.member("problem", problem)
    }
  }
}

extension StageDescription.Role {
  /// Where it stands in a pipeline.
  var name: String {
    switch self {
    case .line: "line"
    case .end: "end"
    case .channel: "channel"
    case .source: "source"
    }
  }
}
