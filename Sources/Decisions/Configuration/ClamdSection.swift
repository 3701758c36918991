import Pipeline
import Platform

/// The key `clamd` of the section `serve`: doors for clients of ClamAV's daemon.
enum ClamdSection {
  static let key = "clamd"

  private static let example =
    "write 'clamd: [{ listen: unix:/run/sluice/clamd.sock, pipeline: mail.yaml, unknown: error }]'"

  static func doors(_ node: Node, _ findings: inout Findings) -> [ServeRules.ClamdDoor] {
    let nodes: [Node]
    switch node.content {
    case .unusable: return []
    case .mapping: nodes = [node]
    case .sequence(let all): nodes = all
    case .scalar:
      findings.report(node.mark, "'clamd' takes a list of maps, not \(node.noun)", example)
      return []
    }
    if nodes.count > ServeRules.ClamdDoor.most {
      findings.report(
        node.mark, "there may be \(ServeRules.ClamdDoor.most) doors, and these are \(nodes.count)",
        "take some out; several clients may share one")
    }
    var doors: [ServeRules.ClamdDoor] = []
    for node in nodes {
      guard let door = door(node, &findings) else { continue }
      if doors.contains(where: { $0.listen == door.listen }) {
        findings.report(node.mark, "two doors listen at \(quoted(door.listen))", "give one another address")
      }
      doors.append(door)
    }
    return doors
  }

  private static func door(_ node: Node, _ findings: inout Findings) -> ServeRules.ClamdDoor? {
    guard let section = Section(node, keys: Grammar.clamd.map(\.name)) else {
      if case .unusable = node.content { return nil }
      findings.report(node.mark, "a door of 'clamd' is a map, not \(node.noun)", example)
      return nil
    }
    section.reportUnknown(&findings)
    if section["listen"] == nil && !section.misspells("listen") {
      findings.report(section.mark, "a door of 'clamd' lacks 'listen'", example)
    }
    if section["unknown"] == nil && !section.misspells("unknown") {
      findings.report(
        section.mark, "a door of 'clamd' lacks 'unknown'",
        "add 'unknown: error', or 'unknown: found'; what each client makes of an error, docs/clamd.md tells"
      )
    }
    var door = ServeRules.ClamdDoor()
    let given = section.read(Grammar.clamd, &findings)
    given.apply(Grammar.clamd, to: &door)
    if let listen = given["listen"] {
      let address = ListenAddress(listen.value.text)
      if address == nil || address == .systemd {
        findings.report(
          listen.mark, "\(quoted(listen.value.text)) is no address for a door of 'clamd'",
          "write unix:/run/sluice/clamd.sock or 127.0.0.1:3310; names are not looked up")
      }
    }
    return door
  }
}
