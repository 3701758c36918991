import Pipeline
import Platform

/// The section `serve`.
enum ServeSection {
  /// Without the slash at its end; `nil`: it is no URL, or one with a query.
  private static func publicURL(_ text: String) -> String? {
    let rest = ["https://", "http://"].first { text.hasPrefix($0) }.map { text.dropFirst($0.count) }
    guard let rest, let first = rest.first, first != "/",
      rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"\"<>?#\\@".utf8.contains($0) })
    else { return nil }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  /// Whether a text is an origin as browsers serialize it (https://html.spec.whatwg.org/#ascii-serialisation-of-an-origin), also of
  /// an app's own scheme. Another would never match.
  private static func isOrigin(_ text: String) -> Bool {
    let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
    guard parts.count == 2, parts[1].hasPrefix("//"), let first = parts[0].utf8.first, 0x61...0x7A ~= first,
      parts[0].utf8.allSatisfy({ 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || "+-.".utf8.contains($0) })
    else { return false }
    let place = parts[1].dropFirst(2)
    let usual = ["http": ":80", "https": ":443"][parts[0]]
    if let usual, place.hasSuffix(usual) { return false }
    let host = place.hasPrefix("[") ? place.drop { $0 != "]" }.dropFirst() : place
    let pieces = host.split(separator: ":", omittingEmptySubsequences: false)
    guard !place.isEmpty, pieces.count <= 2,
      pieces.count < 2 || Int(pieces[1]).map({ 1...65535 ~= $0 }) == true
    else { return false }
    return place.utf8.allSatisfy {
      0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || "-._~:[]".utf8.contains($0)
    }
  }

  /// A token (RFC 9110, section 5.6.2).
  private static func isFieldName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 100
      && text.utf8.allSatisfy {
        0x61...0x7A ~= $0 || 0x41...0x5A ~= $0 || 0x30...0x39 ~= $0 || "!#$%&'*+-.^_`|~".utf8.contains($0)
      }
  }

  /// The rules; `nil`: the section is empty or cannot be read.
  static func rules(_ node: Node, _ findings: inout Findings) -> ServeRules? {
    if node.isNull { return nil }
    guard let section = Section(node, keys: Grammar.serveKeys.map(\.name) + [identityKey, ClamdSection.key])
    else {
      if case .unusable = node.content { return nil }
      findings.report(
        node.mark, "'serve' takes a map, not \(node.noun)",
        "write 'serve: { listen: 127.0.0.1:8080, max-size: 10MB }'")
      return nil
    }
    section.reportUnknown(&findings)
    var rules = ServeRules()
    section.read(Grammar.serve, &findings).apply(Grammar.serve, to: &rules)
    for given in section.read(Grammar.listen, &findings) ?? [] {
      if ListenAddress(given.value.text) == nil {
        findings.report(
          given.mark, "\(quoted(given.value.text)) is no address to listen at",
          "write 127.0.0.1:8080, [::1]:8080, unix:/path or systemd; names are not looked up")
      }
      rules.listen.append(given.value.text)
    }
    for given in section.read(Grammar.trustProxy, &findings) ?? [] {
      if AddressRange(given.value.text) == nil {
        findings.report(
          given.mark, "\(quoted(given.value.text)) is no address or network",
          "write 127.0.0.1, or 10.0.0.0/8; one that connects over a Unix socket is trusted as it is")
      }
      rules.trustProxy.append(given.value.text)
    }
    for given in section.read(Grammar.origins, &findings) ?? [] {
      if !isOrigin(given.value.text) {
        findings.report(
          given.mark, "\(quoted(given.value.text)) is no origin as browsers send it",
          "write https://app.example.com in small letters, with a port where it is not the usual one, without a path and "
            + "without '*'; of an app capacitor://localhost")
      }
      rules.origins.append(given.value.text)
    }
    for given in section.read(Grammar.originHeaders, &findings) ?? [] {
      if !isFieldName(given.value.text) {
        findings.report(
          given.mark, "\(quoted(given.value.text)) is no name of a header field",
          "write a name such as X-App-Version")
      }
      rules.originHeaders.append(given.value.text)
    }
    if let given = section.readOne(Grammar.publicURL, &findings) {
      rules.publicURL = publicURL(given.value.text)
      if rules.publicURL == nil {
        findings.report(
          given.mark, "\(quoted(given.value.text)) is no place that clients can find",
          "write https://files.example.com, perhaps with a path")
      }
    }
    rules.identity = section[identityKey].flatMap { identity($0, &findings) }
    rules.clamd = section[ClamdSection.key].map { ClamdSection.doors($0, &findings) } ?? []
    return rules
  }

  static let identityKey = "identity"

  private static func identity(_ node: Node, _ findings: inout Findings) -> ServeRules.Identity? {
    let keys = Grammar.identity.map(\.name) + [Grammar.identityPrivate.name]
    guard let section = Section(node, keys: keys) else {
      if case .unusable = node.content { return nil }
      findings.report(
        node.mark, "'identity' takes a map, not \(node.noun)",
        "write 'identity: { issuer: https://id.example.com, audience: sluice, keys: jwks.json }'")
      return nil
    }
    section.reportUnknown(&findings)
    for setting in Grammar.identity where section[setting.name] == nil && !section.misspells(setting.name) {
      findings.report(
        section.mark, "'identity' lacks '\(setting.name)'",
        "add '\(setting.name): \(setting.key.fallback ?? "")'")
    }
    var identity = ServeRules.Identity()
    section.read(Grammar.identity, &findings).apply(Grammar.identity, to: &identity)
    identity.allowPrivate = (section.read(Grammar.identityPrivate, &findings) ?? []).map(\.value.text)
    if identity.keys.hasPrefix("http://") && identity.allowPrivate.isEmpty {
      findings.report(
        section["keys"]?.mark ?? section.mark, "keys that come over http can be replaced on the way",
        "write https, or name the host in 'allow-private' where it is this machine")
    }
    // As all files that a pipeline names for reading.
    if !identity.isLink && !identity.keys.hasPrefix("/") && !identity.keys.isEmpty {
      let file = findings.file
      identity.keys = (file.lastIndex(of: "/").map { String(file[...$0]) } ?? "") + identity.keys
    }
    return identity
  }
}
