import Configuration
import Glibc
import Pipeline
import Platform

/// What makes a pipeline unfit to judge for a door: a stage would ask a door of this program itself, which would ask it again, and so
/// on; nothing in it judges, and the door would say `OK` of everything; or a stage judges what another has written, and not what the
/// client keeps.
enum DoorFaults {
  /// Each at its place in its file.
  static func diagnostics(_ rules: [ServeRules.ClamdDoor], _ pipelines: [LoadedPipeline]) -> [Diagnostic] {
    let addresses = rules.compactMap { ListenAddress($0.listen) }
    var found: [Diagnostic] = []
    for pipeline in pipelines {
      if pipeline.definition.judging.stages.isEmpty {
        let diagnostic = pipeline.document.diagnostic(
          .stage, pipeline.definition.stages.first?.id ?? "",
          "nothing in this pipeline judges, and a door would say OK of every content; add a stage such as mime, size or scan"
        )
        if !found.contains(diagnostic) { found.append(diagnostic) }
      }
      for diagnostic in rewritten(pipeline) where !found.contains(diagnostic) { found.append(diagnostic) }
      for stage in pipeline.definition.judging.stages where stage.description.id == "scan" {
        guard let asked = stage.values.first(where: { $0.name == "address" })?.text,
          addresses.contains(where: { isSame($0, asked) })
        else { continue }
        let diagnostic = pipeline.document.diagnostic(
          .stage, stage.id,
          "'\(stage.id)' asks \(asked), which is a door of 'serve: clamd' itself; name the socket of the scanner"
        )
        if !found.contains(diagnostic) { found.append(diagnostic) }
      }
    }
    return found
  }

  /// A stage behind one that writes new content. A stage that checks nothing but whether it may write is one, too.
  private static func rewritten(_ pipeline: LoadedPipeline) -> [Diagnostic] {
    let stages = pipeline.definition.judging.stages
    guard let writer = stages.first(where: \.description.produces),
      let judge = stages.drop(while: { $0.id != writer.id }).dropFirst().first
    else { return [] }
    return [
      pipeline.document.diagnostic(
        .stage, writer.id,
        "'\(writer.id)' may write new content, and '\(judge.id)' would judge that instead of what the client keeps; move "
          + "'\(writer.id)' to the end, or take it out")
    ]
  }

  /// - Parameter asked: as the stage has it: `unix:/path` or `tcp:host:port`.
  private static func isSame(_ door: ListenAddress, _ asked: String) -> Bool {
    switch door {
    case .systemd: return false
    case .unix(let path):
      return asked.hasPrefix("unix:") && real(path) == real(String(asked.dropFirst("unix:".count)))
    case .tcp(let host, let port):
      guard asked.hasPrefix("tcp:"), let colon = asked.lastIndex(of: ":"),
        UInt16(asked[asked.index(after: colon)...]) == port
      else { return false }
      var other = String(asked[..<colon].dropFirst("tcp:".count))
      if other == "localhost" { other = "127.0.0.1" }
      other = other.hasPrefix("[") ? String(other.dropFirst().dropLast()) : other
      let isEvery = host == "0.0.0.0" || host == "::"
      return host == other || (isEvery || isOwn(host)) && isOwn(other)
    }
  }

  private static func isOwn(_ host: String) -> Bool { host.hasPrefix("127.") || host == "::1" }

  /// A socket has one name in the folder that its path leads to.
  private static func real(_ path: String) -> String {
    let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let folder = path[..<slash].isEmpty ? "." : String(path[..<slash])
    guard let found = realpath(folder, nil) else { return path }
    defer { free(found) }
    return String(cString: found) + "/" + path[slash...]
  }
}
