/// Where a secret from a file may be filled in: in the options of stages, channels and lanes, and in credentials. Anything else is
/// shown by commands, or decides what the program does.
enum SecretPlaces {
  /// The tree, without the secrets that stand elsewhere. Those are reported.
  static func checked(_ root: Node, _ findings: inout Findings) -> Node {
    entries(root, &findings) { name, node, findings in
      switch (name, node.content) {
      case ("stages", .sequence(let items)):
        return Node(node, .sequence(items.map { entry($0, &findings) }))
      case ("channels", .mapping):
        return entries(node, &findings) { _, node, findings in entry(node, &findings) }
      case ("lanes", .mapping):
        return entries(node, &findings) { _, node, findings in entry(node, &findings) }
      case ("credentials", .mapping):
        return entries(node, &findings) { _, node, findings in
          entries(node, &findings) { name, node, findings in
            name == Grammar.header.name ? node : without(node, &findings)
          }
        }
      default: return without(node, &findings)
      }
    }
  }

  /// A stage or a channel.
  private static func entry(_ node: Node, _ findings: inout Findings) -> Node {
    entries(node, &findings) { name, node, findings in
      name == "options" ? node : without(node, &findings)
    }
  }

  /// A map with each value replaced; anything else without secrets.
  private static func entries(
    _ node: Node, _ findings: inout Findings, _ replace: (String, Node, inout Findings) -> Node
  ) -> Node {
    guard case .mapping(var entries) = node.content else { return without(node, &findings) }
    for index in entries.indices {
      entries[index].value = replace(entries[index].key.text, entries[index].value, &findings)
    }
    return Node(node, .mapping(entries))
  }

  private static func without(_ node: Node, _ findings: inout Findings) -> Node {
    switch node.content {
    case .scalar(let scalar) where scalar.isSecret:
      findings.report(
        node.mark, "\(scalar.asWritten) stands where no secret is taken from a file",
        "use it in the options of a stage, channel or lane, or in the header of a credential")
      return Node(node, .unusable)
    case .scalar, .unusable: return node
    case .sequence(let items): return Node(node, .sequence(items.map { without($0, &findings) }))
    case .mapping: return entries(node, &findings) { _, node, findings in without(node, &findings) }
    }
  }
}

extension Node {
  /// The same place with another content.
  fileprivate init(_ node: Node, _ content: Content) {
    self = node
    self.content = content
  }
}
