import Configuration
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform
import Workbench

/// `sluice replay`: what another configuration would have made of ended attachments.
struct Replay: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "replay", abstract: "Run ended attachments again, and show what would change.", arguments: "[ID…]",
    discussion: """
      Attachments that have ended go through the pipeline again, from a stage on, with what earlier stages recorded.
      Ledger and store stay as they are, and no event is delivered. Derived objects and contents that are taken out
      are compared, too. Without ID every attachment is taken that once came so far and answers to the filters, or a
      sample of them. As with diff(1), the exit code is 1 if something would change. With --apply, those that would
      are queued again, completed ones too. The object of a completed one is kept until another takes its place, also
      where it ends as rejected: `sluice delete` and `prune` take it away.
      """,
    options: [
      .config, .trust,
      CommandOption(
        name: "from", value: "STAGE", help: "The first stage to run again; else the first there is."),
      CommandOption(
        name: "sample", value: "N", help: "Take so many, chosen evenly, and the same every time."),
      CommandOption(name: "diff", help: "Show only what would change."),
      CommandOption(
        name: "apply", help: "Queue those again that would change; 0 is the exit code if all were."),
    ] + FilterOptions.all + [
      .home, .format, .quiet, .noColor,
    ],
    example: "sluice replay --from pdf --config stricter.yaml --sample 1000 --diff")

  private let arguments: ParsedArguments
  private let sample: Int64?
  private let limit: Int?

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    sample = try arguments.integer("sample")
    if let sample, !(1...1_000_000).contains(sample) {
      throw .usage("option '--sample' is from 1 to 1000000, not \(sample)")
    }
    _ = try FilterOptions.filter(arguments)
    limit = try FilterOptions.limit(arguments)
    if sample != nil && limit != nil { throw .usage("give --sample or --limit, not both") }
    if sample != nil && !arguments.words.isEmpty { throw .usage("give IDs or --sample, not both") }
  }

  func run() throws -> ExitCode {
    let file = try Environment.pipelineFile(arguments)
    let pipeline = try Environment.pipeline(file: file, home: nil)
    let first = try firstStage(pipeline.definition)
    let home = Environment.home(arguments)
    let ledger = try Environment.ledger(reading: home)
    // First, so that no signal leaves the folder.
    var launch = Environment.launch(arguments, pipeline.search)
    let folder = try ScratchFolder(in: Environment.temporaryFolder)
    launch.sandbox = pipeline.definition.sandbox
    let digest = StageDefinition(id: pipeline.digest.id, description: pipeline.digest, values: [])
    let player = ReplayPlayer(
      pipeline.definition, first: first, store: home.storePath, digest: digest, launch: launch, folder: folder
    )
    let mismatch = try PipelineMismatch(home, pipeline, file: file)
    if applies { try mismatch.checkCoordinator() }
    var report = ReplayReport(
      isDifferenceOnly: arguments.flag("diff"), isQuiet: arguments.flag("quiet"), applies: applies,
      isJSON: arguments.isJSON, style: Style(arguments))
    // What is to be stored by this replay, by path.
    var granted: [ByteText: [UInt8]] = [:]
    let pieces = PieceChanges(ledger, earlier: pipeline.definition.stages[..<first])
    for record in try records(ledger, player) {
      let outcome = try player.play(record)
      var changes: [ReplayReport.Change] = []
      if case .played(let result) = outcome { changes = try pieces.changes(record, result) }
      report.add(
        record, outcome, pieces: changes, isInTheWay: try isInTheWay(outcome, of: record, ledger, &granted))
    }
    report.end(from: pipeline.definition.stages[first].id)
    if applies { return try apply(report, home, mismatch) }
    return report.changed.isEmpty && report.impossible == 0 ? .success : .incomplete
  }

  private var applies: Bool { arguments.flag("apply") }

  /// Whether what would be stored cannot be: the path is another content's on record, or is that of the attachment's own object, which
  /// stays until another takes its place.
  private func isInTheWay(
    _ outcome: ReplayPlayer.Outcome, of record: AttachmentRecord, _ ledger: any LedgerQueries,
    _ granted: inout [ByteText: [UInt8]]
  ) throws -> Bool {
    guard case .played(let result) = outcome, result.outcome == .completed, let path = result.location,
      let sha256 = result.sha256.flatMap({ Hexadecimal.bytes($0) })
    else { return false }
    if let other = granted[ByteText(path)], other != sha256 { return true }
    granted[ByteText(path)] = sha256
    if try !ledger.hasName(path) || ledger.hasObject(at: path, sha256: sha256) { return false }
    let own = try ledger.object(ofAttachment: record.origin.id)
    return own?.url != path || own?.sha256 != sha256
  }

  /// Queues again what would change.
  private func apply(_ report: ReplayReport, _ home: Home, _ mismatch: PipelineMismatch) throws -> ExitCode {
    var changed = 0
    var refused: [String] = []
    let ids = report.changed.filter { !report.inTheWay.contains($0) }
    if !report.inTheWay.isEmpty {
      Terminal.error(
        "\(Count.text(report.inTheWay.count, "attachment")) \(report.inTheWay.count == 1 ? "stays" : "stay") as before: what would be "
          + "stored goes to a path that another content has; let the path of the stage that stores tell the two apart, "
          + "such as with {sha256}")
    }
    var isAlone = true
    if !ids.isEmpty {
      let desk = try CommandDesk(home)
      isAlone = desk.isAlone
      for start in stride(from: 0, to: ids.count, by: 500) {
        // A coordinator may have begun, or have read its pipeline again, since.
        try desk.checkCoordinator { try mismatch.check($0) }
        let commands = ids[start..<min(start + 500, ids.count)].map {
          // What has been queued again meanwhile stays as it is.
          Command.attachment(
            AttachmentCommand($0, .reprocess, only: Set(Status.allCases.filter(\.isFinal))))
        }
        for result in try desk.apply(commands) {
          if case .refused(let reason) = result { refused.append(reason) }
          if result == .done(hasChanged: true) { changed += 1 }
        }
      }
    }
    for reason in refused.prefix(3) { Terminal.error(Terminal.printable(reason)) }
    if refused.count > 3 { Terminal.error("and \(refused.count - 3) more like that") }
    let isWhole = refused.isEmpty && report.inTheWay.isEmpty && report.impossible == 0
    let code: ExitCode = isWhole ? .success : .incomplete
    if arguments.flag("quiet") || arguments.isJSON { return code }
    Terminal.out("\(Count.text(changed, "attachment")) queued again\n")
    if changed > 0, isAlone, let file = arguments.value("config") {
      Terminal.out(
        "they are worked on by the next `sluice ingest` or `run`; give it the same --config \(ShellWord.of(file))\n"
      )
    }
    return code
  }

  private func firstStage(_ pipeline: PipelineDefinition) throws(CommandError) -> Int {
    guard let name = arguments.value("from") else { return 0 }
    if let index = pipeline.stages.firstIndex(where: { $0.id == name }) { return index }
    throw .usage(
      "the pipeline has no stage '\(Terminal.printable(name))'"
        + Suggestion.remedy(for: name, among: pipeline.stages.map(\.id)))
  }

  private func records(_ ledger: any LedgerQueries, _ player: ReplayPlayer) throws -> [AttachmentRecord] {
    if !arguments.words.isEmpty {
      return try arguments.words.map { try Show.only(of: ledger, $0, Hint(arguments)) }
    }
    // A sample keeps each attachment with the same probability (Vitter's algorithm R).
    var chosen: [AttachmentRecord] = []
    var random = SplitMix(state: 1)
    var seen: Int64 = 0
    var filter = try FilterOptions.filter(arguments)
    // What a person took back is not the pipeline's to say.
    if arguments.values("status").isEmpty { filter.statuses.remove(.cancelled) }
    try ledger.attachments(filter) { record in
      guard record.outcome.status.isFinal, player.cameSoFar(record) else { return true }
      seen += 1
      if let sample, seen > sample {
        let place = Int64.random(in: 0..<seen, using: &random)
        if place < sample { chosen[Int(place)] = record }
      } else {
        chosen.append(record)
      }
      return chosen.count < limit ?? .max
    }
    return chosen.sorted { $0.key < $1.key }
  }
}
