import Foundation
import Testing

/// `sluice report`: counts and times in four forms, none of which what senders chose can break.
@Suite(.serialized)
struct ReportTests {
  private let folder: TemporaryFolder

  private static let names = [
    "plain.txt", "copy.txt", "=1+2.txt", "@sum, \"quoted\".txt", "<script>alert(1)<", "a&b'c.txt",
    "\u{202E}gpj.exe",
    "-line\nbreak.txt", "empty",
  ]

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open.replacingOccurrences(of: "min: 0B", with: "min: 1B"))
    for (number, name) in Self.names.enumerated() {
      let content = name == "empty" ? "" : name == "copy.txt" ? "text number 0\n" : "text number \(number)\n"
      try folder.write("in/\(name.replacingOccurrences(of: "/", with: "_"))", content)
    }
    let ingest = try sluice("ingest", "in")
    try #require(ingest.status == 1, "\(ingest.err)")
  }

  @discardableResult
  private func sluice(_ words: String...) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(words + ["--home", "home"], in: folder)
  }

  private func report(_ words: String...) throws -> JSON {
    let outcome = try SluiceCommand.run(["report", "--format", "json", "--home", "home"] + words, in: folder)
    try #require(outcome.status == 0, "\(outcome.err)")
    return try JSON(outcome.out)
  }

  private func number(_ json: JSON) -> Double? { if case .number(let number) = json { number } else { nil } }

  @Test func everythingIsCounted() throws {
    let report = try report()
    #expect(report["record"].text == "report" && number(report["count"]) == 9)
    #expect(number(report["outcomes"]["completed"]["count"]) == 8)
    #expect(number(report["outcomes"]["completed"]["sizeBytes"]) == 112)
    #expect(number(report["outcomes"]["rejected"]["count"]) == 1)
    let reason = try #require(report["reasons"].elements.first)
    #expect(
      reason["status"].text == "rejected" && reason["stage"].text == "size" && reason["code"].text == "empty")
    #expect(number(reason["count"]) == 1 && report["reasons"].elements.count == 1)
    #expect(
      report["types"].elements.contains { $0["mediaType"].text == "text/plain" && number($0["count"]) == 8 })
    #expect(number(report["duplicates"]["count"]) == 1 && number(report["duplicates"]["sizeBytes"]) == 14)
    #expect(report["duplicates"]["isExact"] == .boolean(true))
    #expect(report["intake"]["intervals"].elements.compactMap { number($0["count"]) }.reduce(0, +) == 9)
    #expect(report["largest"].elements.count == 8 && report["slowest"].elements.count == 9)
    #expect(number(report["intakeToEnd"]["count"]) == 9)
  }

  /// The times are those of `sluice show`.
  @Test func timesAreThoseOnRecord() throws {
    var times: [String: [Double]] = [:]
    for record in try sluice("list", "--format", "json").attachments {
      let story = try JSON(try sluice("show", record.id, "--format", "json").out)
      for attempt in story["attempts"].elements {
        times[try #require(attempt["stage"].text), default: []].append(number(attempt["milliseconds"]) ?? -1)
      }
    }
    let stages = try report()["stages"].elements
    #expect(Set(stages.compactMap(\.["stage"].text)) == Set(times.keys))
    for stage in stages {
      let all = try #require(stage["stage"].text.flatMap { times[$0] }).sorted()
      #expect(number(stage["count"]) == Double(all.count) && number(stage["maxMilliseconds"]) == all.last)
      let median = all[(all.count + 1) / 2 - 1]
      #expect(abs((number(stage["medianMilliseconds"]) ?? -1) - median) <= median / 64 + 0.0005)
      #expect(abs((number(stage["totalMilliseconds"]) ?? -1) - all.reduce(0, +)) < 0.001)
    }
  }

  @Test func filtersAndALimitCountHereToo() throws {
    #expect(number(try report("--status", "rejected")["count"]) == 1)
    #expect(number(try report("--name", "*.txt")["count"]) == 6)
    #expect(number(try report("--limit", "4")["count"]) == 4)
    #expect(number(try report("--since", "2030-01-01")["count"]) == 0)
    let none = try sluice("report", "--until", "2001-01-01")
    #expect(none.status == 0 && none.out == "0 attachments; 0 B\n")
    #expect(try sluice("report", "--until", "2001-01-01", "--format", "html").out.contains("0 attachments"))
    #expect(try sluice("report", "--format", "xml").status == 2)
  }

  @Test func textHasNothingThatActsOnATerminal() throws {
    let text = try sluice("report").out
    #expect(text.hasPrefix("9 attachments, taken in from "))
    for title in [
      "Outcomes", "Not completed", "Types", "Stages", "Duplicates", "Largest", "Slowest in stages", "Intake",
    ] {
      #expect(text.contains("\n\(title)"), "\(title)")
    }
    #expect(
      text.contains("completed  8  88.9 %  112 B") && text.contains("rejected  size  empty  1"), "\(text)")
    #expect(!text.unicodeScalars.contains { $0 == "\u{202E}" || ($0.value < 0x20 && $0 != "\n") })
  }

  // MARK: HTML

  @Test func thePageNeedsNothingFromElsewhereAndNamesAreHarmless() throws {
    let page = try sluice("report", "--format", "html").out
    #expect(page.hasPrefix("<!doctype html>") && page.hasSuffix("</html>\n"))
    // Each name stands there escaped; none is markup.
    for name in [
      "&lt;script&gt;alert(1)&lt;", "a&amp;b&#39;c.txt", "@sum, &quot;quoted&quot;.txt", "\\u{202e}gpj.exe",
    ] {
      #expect(page.contains(name), "\(name)")
    }
    let tags = Set(page.matches(of: #/<\/?([a-zA-Z!]+)/#).map { String($0.output.1) })
    let known: Set<String> = [
      "!doctype", "html", "head", "meta", "title", "style", "body", "main", "h", "p", "section", "div",
      "table", "tr", "th",
      "td", "svg", "rect", "line", "text",
    ]
    #expect(tags.subtracting(known).isEmpty, "\(tags.subtracting(known))")
    for word in ["<script", "http://", "https://", "url(", "@import", "javascript:", "src=", "href="] {
      #expect(!page.contains(word), "\(word)")
    }
    #expect(page.contains("Content-Security-Policy") && page.contains("prefers-color-scheme: dark"))
    #expect(page.components(separatedBy: "<svg").count == 4, "outcomes, intake, stages")
    #expect(!page.unicodeScalars.contains { $0 == "\u{202E}" || ($0.value < 0x20 && $0 != "\n") })
  }

  /// Each element is closed, in order, and each attribute is quoted: it is XML but for the empty elements of HTML.
  @Test func thePageIsWellFormed() throws {
    var page = try sluice("report", "--format", "html").out
    page = page.replacing(#/<meta [^>]*>/#, with: "").replacingOccurrences(of: "<!doctype html>", with: "")
    #expect(XMLWords.problem(page) == nil)
  }

  // MARK: CSV

  @Test func aSpreadsheetTakesNoCellForAFormula() throws {
    let outcome = try sluice("report", "--format", "csv")
    let rows = try CSVWords.rows(outcome.out)
    let head = try #require(rows.first)
    #expect(rows.count == 10 && rows.allSatisfy { $0.count == head.count })
    let names = try #require(head.firstIndex(of: "fileName"))
    let found = Set(rows.dropFirst().map { $0[names] })
    let wanted = Self.names.map { "=@-".contains($0.prefix(1)) ? "'\($0)" : $0 }
    #expect(found == Set(wanted))
    for row in rows {
      for cell in row { #expect(!cell.hasPrefix("=") && !cell.hasPrefix("@") && !cell.hasPrefix("+")) }
    }
    let magic = try #require(head.firstIndex(of: "metadata.mime.magic"))
    #expect(rows.dropFirst().allSatisfy { !$0[magic].isEmpty })
    #expect(try sluice("list", "--format", "csv").out == outcome.out)
    #expect(try CSVWords.rows(sluice("report", "--format", "csv", "--limit", "3").out).count == 4)
  }

  /// Attachments with other keys of metadata follow each other, in any order.
  @Test func theTableHasWhatTheListHas() throws {
    let pdf = SluiceCommand.projectFolder + "/Plugins/pdf/fixtures/report.pdf"
    for number in 0..<4 {
      let folder = folder.path + "/more/\(number)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try FileManager.default.copyItem(atPath: pdf, toPath: folder + "/\(number).pdf")
      try Data("text \(number)\n".utf8).write(to: URL(fileURLWithPath: folder + "/\(number).txt"))
    }
    try #require(try sluice("ingest", "more").status == 0)
    let rows = try CSVWords.rows(sluice("report", "--format", "csv").out)
    let head = try #require(rows.first)
    let list = try sluice("list", "--format", "json").out.split(separator: "\n").map { try JSON(String($0)) }
    #expect(rows.count == list.count + 1 && list.count == 17)
    for (row, record) in zip(rows.dropFirst(), list) {
      func cell(_ name: String) -> String? { head.firstIndex(of: name).map { row[$0] } }
      for name in [
        "id", "status", "mediaType", "sha256", "url", "conversationId", "messageId", "senderId", "source",
      ] {
        #expect(cell(name) == record[name].text ?? "", "\(name)")
      }
      #expect(cell("sizeBytes").flatMap(Double.init) == number(record["sizeBytes"]))
      for name in head where name.hasPrefix("metadata.") {
        let wanted =
          switch record["metadata"][String(name.dropFirst(9))] {
          case .string(let text): text
          case .number(let number): "\(Int(number))"
          case .boolean(let boolean): "\(boolean)"
          default: ""
          }
        #expect(cell(name) == wanted, "\(name)")
      }
      #expect(cell("otherMetadata") == "")
    }
    #expect(head.contains("metadata.pdf.pages"))
  }

  // MARK: Files

  @Test func aFileIsWholeOrNotThere() throws {
    let written = try sluice("report", "--format", "html", "-o", "report.html")
    #expect(written.status == 0 && written.out.isEmpty)
    #expect(try folder.read("report.html").hasSuffix("</html>\n"))
    #expect(try sluice("report", "-o", "report.html").status == 2)
    #expect(try sluice("report", "-o", "report.html", "--force").status == 0)
    #expect(try folder.read("report.html").hasPrefix("9 attachments"))
    #expect(try sluice("report", "-o", "home/store/report").status == 2)
  }
}

/// Reads RFC 4180.
enum CSVWords {
  static func rows(_ text: String) throws -> [[String]] {
    var rows: [[String]] = []
    var row: [String] = []
    var cell = ""
    var isQuoted = false
    var rest = Array(text.unicodeScalars)[...]
    while let scalar = rest.popFirst() {
      if isQuoted {
        if scalar != "\"" {
          cell.unicodeScalars.append(scalar)
        } else if rest.first == "\"" {
          cell += "\""; rest.removeFirst()
        } else {
          isQuoted = false
        }
        continue
      }
      switch scalar {
      case "\"":
        try #require(cell.isEmpty, "a quote in the middle of a cell")
        isQuoted = true
      case ",":
        row.append(cell)
        cell = ""
      case "\r":
        try #require(rest.popFirst() == "\n")
        rows.append(row + [cell])
        (row, cell) = ([], "")
      case "\n": try #require(Bool(false), "a line that ends with LF alone")
      default: cell.unicodeScalars.append(scalar)
      }
    }
    try #require(row.isEmpty && cell.isEmpty && !isQuoted, "the last line has its end")
    return rows
  }
}

/// Whether a text is well-formed, for the little of XML that is needed here.
enum XMLWords {
  /// `nil`: it is.
  static func problem(_ text: String) -> String? {
    var open: [Substring] = []
    var rest = text[...]
    while let start = rest.firstIndex(of: "<") {
      guard let end = rest[start...].firstIndex(of: ">") else { return "a tag without its end" }
      let tag = rest[rest.index(after: start)..<end]
      if rest[..<start].contains(">") { return "a > before <\(tag)>" }
      rest = rest[rest.index(after: end)...]
      let name = tag.drop { $0 == "/" }.prefix { !" /".contains($0) }
      let attributes = tag.drop { $0 != " " }.trimmingCharacters(in: CharacterSet(charactersIn: " /"))
      if !attributes.isEmpty && attributes.wholeMatch(of: #/([a-zA-Z0-9-]+="[^"]*"\s*)+/#) == nil {
        return "attributes \(attributes)"
      }
      if tag.hasPrefix("/") {
        if open.popLast() != name { return "</\(name)> closes another" }
      } else if !tag.hasSuffix("/") {
        open.append(name)
      }
    }
    return open.isEmpty ? nil : "\(open) stay open"
  }
}
