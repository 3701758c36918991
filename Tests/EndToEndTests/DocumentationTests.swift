import Foundation
import Testing

/// The pages that users read agree with the program: links, pipelines, commands, exit codes and variables.
///
/// An HTML comment on the line before a block says how to check it:
///
/// - `<!-- run -->`: run each command of the block; each ends with 0 or 1.
/// - `<!-- run: 78 0 1 -->`: the same, with the exit status of each command.
/// - `<!-- refused -->`: a pipeline that `sluice lint` refuses.
/// - `<!-- not linted: why -->`: a pipeline that this project cannot check. There is none today.
@Suite struct DocumentationTests {
  @Test func thePagesAreThere() throws {
    let names = try Page.all().map(\.name)
    for name in ["README.md", "CONTRIBUTING.md"]
      + ["guarantees", "operating", "pipeline", "http", "clamd", "stages", "architecture"].map({
        "docs/\($0).md"
      })
    {
      #expect(names.contains(name), "\(name) is missing")
    }
  }

  // MARK: Links

  @Test func everyLinkLeadsSomewhere() throws {
    var count = 0
    for page in try Page.all() {
      for link in page.links where !link.contains("://") {
        count += 1
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(
          String.init)
        let target = Self.target(of: parts[0], on: page)
        #expect(
          FileManager.default.fileExists(atPath: "\(SluiceCommand.projectFolder)/\(target)"),
          "\(page.name): \(link) leads to no file")
        if parts.count == 2 {
          let anchors = try Page(target).anchors
          #expect(anchors.contains(parts[1]), "\(page.name): \(target) has no heading #\(parts[1])")
        }
      }
    }
    #expect(count > 10)
  }

  /// The file that a link leads to, without its heading.
  private static func target(of path: String, on page: Page) -> String {
    if path.isEmpty { return page.name }
    let folder = (page.name as NSString).deletingLastPathComponent
    return ((folder as NSString).appendingPathComponent(path) as NSString).standardizingPath
  }

  /// The package has the pages without the sources: what they link to is in it as well.
  @Test func everyLinkOfAnInstalledPageLeadsToAnInstalledFile() throws {
    let folder = try TemporaryFolder()
    let script = #"cd "$1" && doc=$2 && eval "$(grep -F -- '-t "$doc' Packaging/deb.sh)""#
    _ = try FixtureStages.run(
      "/bin/bash", ["-ec", script, "install", SluiceCommand.projectFolder, folder.path])
    let installed = try Page.all().filter {
      FileManager.default.fileExists(atPath: "\(folder.path)/\($0.name)")
    }
    #expect(installed.contains { $0.name == "README.md" } && installed.count > 8, "\(installed.map(\.name))")
    for page in installed {
      for link in page.links where !link.contains("://") {
        let target = Self.target(
          of: link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)[0],
          on: page)
        #expect(
          FileManager.default.fileExists(atPath: "\(folder.path)/\(target)"),
          "\(page.name): \(link) leads to nothing that is installed")
      }
    }
  }

  @Test func everyPageCanBeReachedFromTheReadme() throws {
    let pages = try Page.all()
    let linked = Set(
      pages.flatMap { page in
        page.links.map { ($0.split(separator: "#").first.map(String.init) ?? "") as NSString }.map(
          \.lastPathComponent)
      })
    for page in pages where page.name != "README.md" {
      #expect(linked.contains((page.name as NSString).lastPathComponent), "no link leads to \(page.name)")
    }
  }

  // Tables and listings may be wider.
  @Test func everySentenceFitsIntoTheWidthOfAPage() throws {
    for page in try Page.all() {
      for (number, line) in page.prose where !line.hasPrefix("|") {
        #expect(line.count <= 120, "\(page.name):\(number) has \(line.count) columns")
      }
    }
  }

  @Test func everyModuleHasItsPlaceOnThePage() throws {
    let words = try Page.words(in: Page("docs/architecture.md").text)
    let sources = SluiceCommand.projectFolder + "/Sources"
    var count = 0
    for folder in try FileManager.default.contentsOfDirectory(atPath: sources) {
      let names = try FileManager.default.contentsOfDirectory(atPath: "\(sources)/\(folder)")
      // A folder with sources is a module itself.
      let modules = names.contains { $0.hasSuffix(".swift") } ? [] : names
      for name in [folder] + modules {
        count += 1
        #expect(words.contains(name), "docs/architecture.md does not say what \(name) is")
      }
    }
    #expect(count > 30)
  }

  // MARK: Pipelines

  @Test func everyPipelineIsAccepted() throws {
    let folder = try TemporaryFolder()
    var count = 0
    var unchecked = 0
    for page in try Page.all() {
      for block in page.blocks where block.language == "yaml" && block.lines.first == "version: 1" {
        if block.note?.hasPrefix("not linted:") == true {
          unchecked += 1
          continue
        }
        count += 1
        try folder.write("pipeline.yaml", block.text)
        let outcome = try SluiceCommand.run(["lint"], in: folder, environment: Self.variables)
        let expected: Int32 = block.note == "refused" ? 78 : 0
        #expect(outcome.status == expected, "\(page.name):\(block.line): \(outcome.out)\(outcome.err)")
      }
    }
    #expect(count >= 3)
    #expect(unchecked <= 1)
  }

  @Test func everyCaseHolds() throws {
    let folder = try TemporaryFolder()
    var count = 0
    for page in try Page.all() {
      for block in page.blocks
      where block.language == "yaml" && block.lines.first?.hasPrefix("stage:") == true {
        count += 1
        try folder.write("cases.yaml", block.text)
        let outcome = try SluiceCommand.run(["test", "cases.yaml"], in: folder)
        #expect(outcome.status == 0, "\(page.name):\(block.line): \(outcome.out)\(outcome.err)")
      }
    }
    #expect(count > 0)
  }

  /// The environment variables used by pipelines on the pages.
  private static let variables = [
    "WEBHOOK_URL": "https://hooks.example.com/sluice", "WEBHOOK_SECRET": WebhookTests.secret,
  ]

  // By the program's own listings.
  @Test func everyKeyOptionAndCodeIsExplained() throws {
    let page = try Page("docs/pipeline.md")
    let folder = try TemporaryFolder()
    let schema = try SluiceCommand.run(["schema"], in: folder).out
    let keys = Self.propertyNames(try JSON(schema))
    #expect(keys.count > 30)
    let rows = Self.rows(page.prose.map(\.line))
    for key in keys.subtracting(rows) { Issue.record("docs/pipeline.md has no row for '\(key)'") }
    let plugins = try SluiceCommand.run(["stages", "list", "--format", "json"], in: folder)
      .every(Printed.Plugin.self).map(\.id)
    #expect(plugins.count > 10)
    for id in plugins {
      let plugin = try SluiceCommand.run(["stages", "inspect", id, "--format", "json"], in: folder)
        .only(Printed.Inspection.self)
      let section = page.section(id)
      let options = Set(plugin.options.map(\.name)).subtracting(Self.rows(section))
      #expect(options.isEmpty, "docs/pipeline.md: '\(id)' has no row for \(options.sorted())")
      let explained = Page.words(in: section.joined(separator: "\n")).union(["unreadable", "source-changed"])
      let codes = Set(plugin.codes.map(\.name)).subtracting(explained)
      #expect(codes.isEmpty, "docs/pipeline.md: '\(id)' does not explain \(codes.sorted())")
    }
  }

  /// The first cells of table rows.
  private static func rows(_ lines: [String]) -> Set<String> {
    Set(lines.compactMap { $0.firstMatch(of: /^\| `([^`]+)` \|/).map { String($0.output.1) } })
  }

  /// The names below every `properties`, at any depth.
  private static func propertyNames(_ value: JSON) -> Set<String> {
    (value.elements + value.members.values).reduce(into: Set(value["properties"].members.keys)) {
      $0.formUnion(propertyNames($1))
    }
  }

  // MARK: Commands

  @Test func everyCommandExistsWithItsOptions() throws {
    let help = try Help()
    var count = 0
    for page in try Page.all() {
      let shown = page.blocks.filter { $0.language == "console" }.flatMap { block in
        block.commands.flatMap(Self.parts).map { ("\(page.name):\(block.line)", $0) }
      }
      let named = page.codeSpans.map { (page.name, Self.words($0)) }
      for (place, words) in shown + named where words.first == "sluice" && words.count > 1 {
        count += 1
        if let fault = try help.fault(in: Array(words.dropFirst())) {
          Issue.record("\(place): `\(words.joined(separator: " "))`: \(fault)")
        }
      }
    }
    #expect(count > 50)
  }

  @Test func everyCommandIsExplained() throws {
    let text = try [
      "README.md", "docs/operating.md", "docs/stages.md", "docs/http.md", "docs/accounts.md",
      "docs/messages.md",
    ]
    .map {
      try Page($0).text
    }.joined()
    for command in try Help().commands {
      // A name may be the beginning of another: `stages run`, `run`.
      let isNamed = text.contains(try Regex("sluice \(command)(?![a-z-])"))
      #expect(isNamed, "`sluice \(command)` is not explained")
    }
  }

  @Test func whatIsShownRuns() throws {
    var count = 0
    for page in try Page.all() {
      var pipeline = try String(
        contentsOfFile: SluiceCommand.projectFolder + "/pipeline.yaml", encoding: .utf8)
      for block in page.blocks {
        if block.language == "yaml" && block.lines.first == "version: 1" { pipeline = block.text }
        guard block.language == "console", let statuses = block.statuses else { continue }
        count += 1
        try run(block, of: page, with: pipeline, statuses)
      }
    }
    #expect(count > 2)
  }

  /// Runs each command of a block in one folder with samples in `inbox`, and compares its exit status.
  private func run(_ block: Block, of page: Page, with pipeline: String, _ statuses: [Int32]) throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", pipeline)
    for name in ["damaged.pdf", "photo.jpg", "report.pdf"] {
      try folder.write("inbox/\(name)", Samples.data(name))
    }
    #expect(statuses.isEmpty || statuses.count == block.commands.count, "\(page.name):\(block.line)")
    for (index, command) in block.commands.enumerated() {
      let outcome = try SluiceCommand.run(
        ["-c", command], in: folder, environment: ["PATH": SluiceCommand.folder + ":/usr/bin:/bin"],
        program: "/bin/sh")
      let allowed = statuses.indices.contains(index) ? [statuses[index]] : [0, 1]
      #expect(
        !outcome.wasKilled && allowed.contains(outcome.status),
        "\(page.name):\(block.line): `\(command)` ends with \(outcome.status): \(outcome.out)\(outcome.err)")
    }
  }

  // MARK: Exit codes and variables

  @Test func everyExitCodeExists() throws {
    let declaration = try #require(
      try Self.sources(below: ["Sources"]).first { $0.contains("enum ExitCode: Int32 {") })
    let start = try #require(declaration.range(of: "enum ExitCode: Int32 {"))
    let body = declaration[start.upperBound...].prefix { $0 != "}" }
    let codes = Set(body.matches(of: /case \w+ = ([0-9]+)/).map(\.output.1))
    #expect(codes.count >= 6)
    let operating = try Page("docs/operating.md")
    let table = Set(
      operating.section("exit-codes").compactMap { $0.firstMatch(of: /^\| `?([0-9]+)`? \|/)?.output.1 })
    #expect(table == codes, "the table of docs/operating.md has \(table.sorted())")
    for page in try Page.all() {
      for match in page.text.matches(
        of: /(?i)\b(?:exit(?:s)?(?: code| status)?(?: with)?|ends? with) `?([0-9]+)\b/)
      {
        #expect(codes.contains(match.output.1), "\(page.name): '\(match.output.0)' is no exit code")
      }
    }
  }

  @Test func everyVariableIsRead() throws {
    let product = try Self.variables(below: ["Sources", "Plugins"])
    let project = try product.union(Self.variables(below: ["Tests", "Makefile", "Package.swift"]))
    var count = 0
    for page in try Page.all() {
      for name in Self.variables(in: page.text) {
        count += 1
        // Contributors also set variables that tests and the build read.
        let known = page.name == "CONTRIBUTING.md" ? project : product
        #expect(known.contains(name), "\(page.name): nothing reads \(name)")
      }
    }
    #expect(count >= 3)
  }

  private static func variables(below names: [String]) throws -> Set<String> {
    try sources(below: names).reduce(into: []) { $0.formUnion(variables(in: $1)) }
  }

  private static func variables(in text: String) -> Set<String> {
    Set(text.matches(of: /\bSLUICE_[A-Z0-9_]+/).map { String($0.output) })
  }

  /// The texts of files, without this one: the strings it searches for would be found here.
  private static func sources(below names: [String]) throws -> [String] {
    var texts: [String] = []
    for name in names {
      let path = "\(SluiceCommand.projectFolder)/\(name)"
      let inner = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
      for file in [path] + inner.map({ "\(path)/\($0)" }) where file != #filePath {
        guard ["swift", "c", "h", "sh", ""].contains((file as NSString).pathExtension) else { continue }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: file, isDirectory: &isFolder), !isFolder.boolValue else {
          continue
        }
        texts.append(String(decoding: try Data(contentsOf: URL(fileURLWithPath: file)), as: UTF8.self))
      }
    }
    return texts
  }

  // MARK: Words of commands

  /// The commands in a shell line, each as words.
  private static func parts(_ line: String) -> [[String]] {
    line.replacingOccurrences(of: "&&", with: "|").split { "|;".contains($0) }.map { words(String($0)) }
  }

  private static func words(_ command: String) -> [String] {
    command.split(separator: " ").map { $0.trimmingCharacters(in: ["'", "\"", "(", ")"]) }
  }

  /// The `--help` output of each command.
  private final class Help {
    let commands: [String]
    private let folder: TemporaryFolder
    private var options: [String: Set<String>] = [:]

    init() throws {
      folder = try TemporaryFolder()
      commands = try SluiceCommand.run(["--help"], in: folder).out.split(separator: "\n").filter {
        $0.hasPrefix("  ")
      }.map { $0.dropFirst(2).components(separatedBy: "  ")[0] }
    }

    /// The problem with the words after `sluice`; `nil`: none.
    func fault(in words: [String]) throws -> String? {
      let isGroup = words.count <= 2 && commands.contains { $0.hasPrefix(words[0] + " ") }
      if ["--help", "--version", "COMMAND"].contains(words[0])
        || isGroup && ["…", nil].contains(words.dropFirst().first)
      {
        return nil
      }
      guard
        let command = [2, 1].lazy.map({ words.prefix($0).joined(separator: " ") }).first(
          where: commands.contains)
      else { return "there is no such command" }
      let known = try options(of: command)
      for word in words where word.hasPrefix("-") && word.count > 1 {
        let name = word.prefix { $0 != "=" && $0 != "]" }.trimmingCharacters(in: ["[", "…"])
        if name != "--help" && name != "--" && !known.contains(name) { return "there is no option \(name)" }
      }
      return nil
    }

    private func options(of command: String) throws -> Set<String> {
      if let known = options[command] { return known }
      let text = try SluiceCommand.run(
        command.split(separator: " ").map(String.init) + ["--help"], in: folder
      ).out
      let names = text.split(separator: "\n").compactMap {
        $0.firstMatch(of: /^  (?:(-[a-z]), |    )(--[a-z-]+)/)?.output
      }
      let known = Set(names.flatMap { [$0.1, $0.2].compactMap { $0.map(String.init) } })
      options[command] = known
      return known
    }
  }

  // MARK: Pages

  /// A fenced block.
  private struct Block {
    var language: String
    /// The HTML comment on the line before it.
    var note: String?
    /// The number of its first line in the page, from 1.
    var line: Int
    var lines: [String] = []

    var text: String { lines.joined(separator: "\n") + "\n" }

    /// The text after `$ `, with continuation lines after a `\`.
    var commands: [String] {
      var commands: [String] = []
      var isContinued = false
      for line in lines {
        guard isContinued || line.hasPrefix("$ ") else { continue }
        let part = isContinued ? line.trimmingCharacters(in: .whitespaces) : String(line.dropFirst(2))
        let whole = (isContinued ? commands.removeLast() : "") + part
        isContinued = whole.hasSuffix("\\")
        commands.append(isContinued ? String(whole.dropLast()) : whole)
      }
      return commands
    }

    /// The expected exit status of each command; empty: 0 or 1; `nil`: the block is not run.
    var statuses: [Int32]? {
      guard let note, note == "run" || note.hasPrefix("run: ") else { return nil }
      return note.dropFirst(5).split(separator: " ").compactMap { Int32($0) }
    }
  }

  /// A page of Markdown, parsed as far as these tests need it.
  private struct Page {
    let name: String
    let text: String
    private(set) var blocks: [Block] = []
    /// Each line outside blocks, with its number.
    private(set) var prose: [(number: Int, line: String)] = []

    static func all() throws -> [Page] {
      let project = SluiceCommand.projectFolder
      let names = try FileManager.default.contentsOfDirectory(atPath: project + "/docs").filter {
        $0.hasSuffix(".md")
      }.sorted()
      return try (["README.md", "CONTRIBUTING.md"] + names.map { "docs/\($0)" }).map { try Page($0) }
    }

    /// - Parameter name: relative to the project's folder.
    init(_ name: String) throws {
      self.name = name
      text = try String(contentsOfFile: "\(SluiceCommand.projectFolder)/\(name)", encoding: .utf8)
      var open: Block?
      for (index, line) in text.components(separatedBy: "\n").enumerated() {
        if var block = open {
          if line == "```" {
            blocks.append(block)
            open = nil
          } else {
            block.lines.append(line)
            open = block
          }
        } else if line.hasPrefix("```") {
          let above = prose.last.flatMap { $0.number == index ? $0.line : nil }
          let note = above?.wholeMatch(of: /<!-- (.*) -->/).map { String($0.output.1) }
          open = Block(language: String(line.dropFirst(3)), note: note, line: index + 2)
        } else {
          prose.append((index + 1, line))
        }
      }
      if let open { Issue.record("\(name):\(open.line - 1): the block does not end") }
    }

    /// The targets of links.
    var links: [String] {
      prose.flatMap { line in
        line.line.matches(of: /\]\(([^)\s]+)\)/).map { String($0.output.1) }
      }
    }

    /// The text between backticks.
    var codeSpans: [String] {
      let text = prose.map(\.line).joined(separator: "\n")
      return text.matches(of: /`[^`]+`/).map {
        $0.output.dropFirst().dropLast().replacingOccurrences(of: "\n", with: " ")
          .replacingOccurrences(of: "\\|", with: "|")
      }
    }

    /// Names and keys may have a `-`.
    static func words(in text: String) -> Set<String> {
      Set(text.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init))
    }

    /// The anchors of headings: lower case letters, digits and `-`, with `-` for each space.
    var anchors: [String] {
      prose.map(\.line).filter { $0.hasPrefix("#") }.map(Self.anchor)
    }

    private static func anchor(_ heading: String) -> String {
      let title = heading.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
      return title.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }.replacingOccurrences(
        of: " ", with: "-")
    }

    /// The lines below the heading with this anchor, up to the next heading of the same or a higher rank.
    func section(_ anchor: String) -> [String] {
      let lines = prose.map(\.line)
      guard let start = lines.firstIndex(where: { $0.hasPrefix("#") && Self.anchor($0) == anchor }) else {
        return []
      }
      let rank = lines[start].prefix { $0 == "#" }.count
      return Array(
        lines[(start + 1)...].prefix { !$0.hasPrefix("#") || $0.prefix { $0 == "#" }.count > rank })
    }
  }
}
