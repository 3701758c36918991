import Pipeline

/// The section `lanes`: how links are fetched.
enum LanesSection {
  private static let downloads = "downloads"
  private static let example = "write 'lanes: { downloads: { use: http } }'"

  /// The lane of downloads, if it is there and can be read.
  static func entries(_ node: Node, _ findings: inout Findings) -> [StageEntry] {
    if node.isNull { return [] }
    switch node.content {
    case .unusable: return []
    case .mapping(let entries):
      return entries.compactMap { entry in
        guard entry.key.text == downloads else {
          findings.report(
            entry.key.mark, "\(quoted(entry.key.text)) is no lane that is set up here", example)
          return nil
        }
        return StageEntry(lane: entry.value, name: entry.key, &findings)
      }
    case .scalar, .sequence:
      findings.report(node.mark, "'lanes' takes a map, not \(node.noun)", example)
      return []
    }
  }

  /// Of how many messages links are fetched by themselves; `nil`: of all, or it cannot be read.
  static func prefetch(_ node: Node, _ findings: inout Findings) -> Int? {
    if node.isNull { return nil }
    let example = "write 'prefetch: { messages: 50 }'"
    guard let section = Section(node, keys: [Grammar.prefetchMessages.name]) else {
      if case .unusable = node.content { return nil }
      findings.report(node.mark, "'prefetch' takes a map, not \(node.noun)", example)
      return nil
    }
    section.reportUnknown(&findings)
    if section.count == 0 && section.unknown.isEmpty {
      findings.report(section.mark, "'prefetch' does not say of how many messages", example)
    }
    return section.readOne(Grammar.prefetchMessages, &findings).map { Int($0.value.integer) }
  }
}

/// The section `credentials`: what is said to hosts, by name.
enum CredentialsSection {
  private static let example =
    "write 'credentials: { files: { header: \"authorization: …\", hosts: [files.example.com] } }'"

  static func credentials(
    _ node: Node, _ substitution: Substitution, _ findings: inout Findings
  ) -> [String: Credential] {
    if node.isNull { return [:] }
    guard case .mapping(let entries) = node.content else {
      if case .unusable = node.content { return [:] }
      findings.report(node.mark, "'credentials' takes a map, not \(node.noun)", example)
      return [:]
    }
    var credentials: [String: Credential] = [:]
    for entry in entries {
      guard
        let section = Section(
          entry.value, keys: Grammar.credential + Grammar.credentialSettings.map(\.name))
      else {
        if case .unusable = entry.value.content { continue }
        findings.report(entry.value.mark, "a credential is a map, not \(entry.value.noun)", example)
        continue
      }
      section.reportUnknown(&findings)
      let header = section.readOne(Grammar.header, &findings)
      let hosts = section.read(Grammar.hosts, &findings)
      for key in [Grammar.header, Grammar.hosts]
      where section[key.name] == nil && !section.misspells(key.name) {
        findings.report(section.mark, "the credential '\(entry.key.text)' lacks '\(key.name)'", example)
      }
      let settings = section.read(Grammar.credentialSettings, &findings)
      guard let header, let hosts else { continue }
      guard isHeader(header.value.text) else {
        // Its value is a secret, and is not shown.
        findings.report(
          header.mark, "'header' is no line such as 'authorization: Bearer …' in plain ASCII",
          "write the header's name, a colon and its value")
        continue
      }
      if let name = reserved(header.value.text) {
        findings.report(
          header.mark, "'header' sets '\(name)', which belongs to the request itself and is no credential's",
          "write one such as 'authorization: Bearer …', 'cookie: …' or 'x-api-key: …'")
        continue
      }
      var credential = Credential(
        header: header.value.text, hosts: hosts.map(\.value.text),
        readAgain: section[Grammar.header.name].flatMap { reader(of: $0, substitution) })
      settings.apply(Grammar.credentialSettings, to: &credential)
      if credential.on401 == .signOut, credential.owner?.isEmpty ?? true {
        findings.report(
          settings["on-401"]?.mark ?? section.mark, "'on-401: sign-out' does not say who is signed out",
          "add 'owner: NAME', a participant")
      }
      credentials[entry.key.text] = credential
    }
    return credentials
  }

  /// Reads the files of a header again; `nil`: it takes nothing from a file.
  private static func reader(
    of node: Node, _ substitution: Substitution
  ) -> (@Sendable () throws(Credential.Unusable) -> String)? {
    guard case .scalar(let scalar) = node.content, scalar.isSecret, let written = scalar.written else {
      return nil
    }
    return { () throws(Credential.Unusable) in
      let filled = substitution.fill(written, limit: headerLimit)
      if let fault = filled.faults.first { throw Credential.Unusable(fault.message) }
      guard isHeader(filled.text), reserved(filled.text) == nil else {
        throw Credential.Unusable("with what the file has now, its header is no line in plain ASCII")
      }
      return filled.text
    }
  }

  /// Names of fields that say how a request is made, or which part of the content it asks for: a source sets them, and refuses
  /// links with others.
  private static let ownNames: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "proxy-connection", "range", "te",
    "trailer", "transfer-encoding", "upgrade",
  ]

  /// The name of a field that is one of those; `nil`: it is not.
  private static func reserved(_ text: String) -> String? {
    let name = text.prefix { $0 != ":" }.lowercased()
    return ownNames.contains(name) ? name : nil
  }

  /// Bytes.
  private static let headerLimit = 8192

  /// A field line (RFC 9110, section 5.5) without control characters.
  private static func isHeader(_ text: String) -> Bool {
    guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else { return false }
    let name = text[..<colon]
    return name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } && text.utf8.count <= headerLimit
  }
}
