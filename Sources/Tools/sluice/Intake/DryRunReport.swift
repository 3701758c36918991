import LedgerPort
import Manifest
import Pipeline
import Platform

/// What `sluice ingest --dry-run` prints: a line for each new file, and the sums.
struct DryRunReport {
  private let isJSON: Bool
  private let isQuiet: Bool
  private let isAgain: Bool
  private let style: Style
  private var problems: ProblemGroups
  private var counts: [Status: Int64] = [:]
  private var files: Int64 = 0
  private var bytes: Int64 = 0
  private var links: Int64 = 0
  private var known: Int64 = 0
  private var knownNotCompleted: Int64 = 0

  init(_ arguments: ParsedArguments, manifest: String?) {
    isJSON = arguments.isJSON
    isQuiet = arguments.flag("quiet")
    isAgain = arguments.flag("again")
    style = Style(arguments)
    problems = ProblemGroups(manifest: manifest)
  }

  /// Whether the ingest would end with 0.
  var isClean: Bool {
    problems.count == 0 && knownNotCompleted == 0 && counts[.completed, default: 0] == files
  }

  var found: Int64 { files + links + known + Int64(problems.count) }

  mutating func add(_ problem: IntakeProblem) {
    if problems.add(problem) { Terminal.error(problem.text) }
    if isJSON { Terminal.out(ProblemRecord.json(problem, line: problems.line(of: problem))) }
  }

  /// - Parameter isNotCompleted: it has ended otherwise.
  mutating func addKnown(isNotCompleted: Bool) {
    known += 1
    if isNotCompleted { knownNotCompleted += 1 }
  }

  /// - Parameter outcome: `queued` where it would be tried again later.
  mutating func add(_ item: IntakeItem, _ outcome: AttachmentOutcome) {
    files += 1
    bytes += item.sourceSize
    counts[outcome.status, default: 0] += 1
    if isJSON { return Terminal.out(json(item, outcome)) }
    if isQuiet && outcome.status == .completed { return }
    var parts = [
      style.word(outcome.status.rawValue, width: 11),
      Terminal.printable(String(decoding: item.source, as: UTF8.self)),
    ]
    if let mediaType = outcome.mediaType { parts.append(Terminal.printable(mediaType)) }
    parts.append(ByteSize.rounded(item.sourceSize))
    if let reason = outcome.reason {
      parts.append("(\(reason.stage): \(RecordText.reason(reason.code, reason.message)))")
    }
    Terminal.out(parts.joined(separator: "  ") + "\n")
  }

  /// Of a link nothing is known before it is fetched, and its host alone is shown.
  mutating func add(link item: IntakeItem) {
    links += 1
    if isJSON { return Terminal.out(json(item, AttachmentOutcome(.queued))) }
    if isQuiet { return }
    Terminal.out(
      "\(style.word("to fetch", width: 11))  \(Terminal.printable(item.link?.name ?? item.origin))\n")
  }

  private func json(_ item: IntakeItem, _ outcome: AttachmentOutcome) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "rehearsal")
      writer.source(item.link?.name ?? String(decoding: item.source, as: UTF8.self), item.source)
      writer.member("fileName", item.fileName)
      writer.member("conversationId", item.conversationId)
      writer.member("status", outcome.status.rawValue)
      writer.member("mediaType", outcome.mediaType)
      writer.member("sizeBytes", item.sourceSize)
      writer.member("reason", outcome.reason)
      writer.key("metadata")
      writer.raw(outcome.metadata)
    }
    return writer.text + "\n"
  }

  /// - Parameter hasMore: more new files are there than were asked for.
  func end(hasMore: Bool) {
    for line in problems.rest { Terminal.error(line) }
    if isJSON { return Terminal.out(json(hasMore: hasMore)) }
    var parts = Status.allCases.filter { $0.isFinal && $0 != .cancelled }.map {
      "\(counts[$0] ?? 0) \($0.rawValue)"
    }
    if let again = counts[.queued] { parts.append("\(again) to be tried again") }
    var text =
      "\n\(Count.text(files, isAgain ? "file" : "new file")) of \(ByteSize.rounded(bytes)) would be taken in: \(parts.joined(separator: ", "))\n"
    if links > 0 {
      text +=
        "\(Count.text(links, "link")) would be fetched, but for what is known from before; of the content nothing is known yet\n"
    }
    if known > 0 {
      let rest = knownNotCompleted > 0 ? "; \(knownNotCompleted) of them not completed" : ""
      text += "\(known) known from before would be left as they are\(rest)\n"
    }
    if hasMore { text += "more new files are there, beyond --limit\n" }
    if problems.count > 0 { text += "\(problems.count) would not be taken in, see above\n" }
    Terminal.out(text + "nothing was recorded\n")
  }

  private func json(hasMore: Bool) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "dryRun")
      writer.member("files", files)
      writer.member("sizeBytes", bytes)
      for status in [Status.completed, .rejected, .failed, .quarantined] {
        writer.member(status.rawValue, counts[status] ?? 0)
      }
      writer.member("triedAgain", counts[.queued] ?? 0)
      writer.member("links", links)
      writer.member("known", known)
      writer.member("knownNotCompleted", knownNotCompleted)
      writer.member("notTakenIn", Int64(problems.count))
      writer.key("more")
      writer.value(hasMore)
    }
    return writer.text + "\n"
  }
}
