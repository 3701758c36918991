import Configuration
import Pipeline
import Platform

/// Whether a stage would ask a door of this program itself, which would ask it again, and so on.
enum DoorLoop {
  /// What is wrong with the stages of the pipelines that judge for the doors, each at its place in its file.
  static func diagnostics(_ rules: [ServeRules.ClamdDoor], _ pipelines: [LoadedPipeline]) -> [Diagnostic] {
    let addresses = rules.compactMap { ListenAddress($0.listen) }
    var found: [Diagnostic] = []
    for pipeline in pipelines {
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

  /// - Parameter asked: as the stage has it: `unix:/path` or `tcp:host:port`.
  private static func isSame(_ door: ListenAddress, _ asked: String) -> Bool {
    switch door {
    case .systemd: return false
    case .unix(let path): return asked == "unix:\(path)"
    case .tcp(let host, let port):
      guard asked.hasPrefix("tcp:"), let colon = asked.lastIndex(of: ":"),
        UInt16(asked[asked.index(after: colon)...]) == port
      else { return false }
      var other = String(asked[..<colon].dropFirst("tcp:".count))
      if other == "localhost" { other = "127.0.0.1" }
      other = other.hasPrefix("[") ? String(other.dropFirst().dropLast()) : other
      let isEvery = host == "0.0.0.0" || host == "::"
      return host == other || isEvery && (other.hasPrefix("127.") || other == "::1")
    }
  }
}
