import Configuration
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// Runs the cases of one file, one after the other.
public final class CaseRunner {
  /// The stage or pipeline that the cases test.
  public enum Subject {
    case stage(StageDescription)
    case pipeline(PipelineDefinition)
  }

  private let document: CaseDocument
  private let subject: Subject
  private let digest: StageDefinition
  private let launch: StageRunner.Launch
  private let temporaryFolder: String
  /// The worker of the last case, kept for the next case with the same options.
  private var idle: (stage: StageDefinition, bench: Bench)?

  public init(
    _ document: CaseDocument, _ subject: Subject, digest: StageDefinition, launch: StageRunner.Launch,
    temporaryFolder: String
  ) {
    self.document = document
    self.subject = subject
    self.digest = digest
    self.launch = launch
    self.temporaryFolder = temporaryFolder
  }

  /// Runs one case and compares the result. A case that cannot run, because its input is missing, counts as a
  /// mismatch.
  public func check(_ one: Case) throws -> (found: Found, mismatches: [Mismatch]) {
    do {
      let found = try run(one)
      return (found, Comparison(one.expectation, found).mismatches)
    } catch let error as WorkbenchError where [.refused, .configuration].contains(error.code) {
      let mismatch = Mismatch(
        key: "case", line: one.line, expected: "it can be run", found: error.description)
      return (Found(), [mismatch])
    }
  }

  private func run(_ one: Case) throws -> Found {
    let folder = try ScratchFolder(in: temporaryFolder)
    for (path, text) in one.files { try folder.write(Array(text.utf8), to: path) }
    let start = Clock.monotonic()
    var found =
      switch subject {
      case .stage(let description): try run(one, description, folder)
      case .pipeline(let pipeline): try run(one, pipeline, folder)
      }
    found.milliseconds =
      found.refused == nil ? found.milliseconds : Double((Clock.monotonic() - start) / 1000) / 1000
    if one.expectation.files != nil || one.expectation.isEmpty { found.files = try facts(of: folder) }
    return found
  }

  private func inputPath(_ path: String) -> String { path.hasPrefix("/") ? path : document.folder + path }

  private func trial(_ one: Case, needsContent: Bool) throws(WorkbenchError) -> Trial {
    var name = "attachment"
    var content: Content?
    do throws(Content.Problem) {
      switch one.input {
      case .file(let path):
        name = path.split(separator: "/").last.map(String.init) ?? path
        content = try Content(inputPath(path))
      case .bytes(let bytes): content = try Content(bytes: bytes)
      case .zeros(let count): content = try Content(zeros: count)
      case nil: content = needsContent ? try Content(bytes: []) : nil
      }
    } catch {
      let path = if case .file(let path) = one.input { " \(inputPath(path))" } else { "" }
      throw WorkbenchError(.configuration, "its input\(path): \(error.message)")
    }
    var trial = Trial(fileName: one.fileName ?? name, content: content)
    trial.work.origin = trial.work.origin.replacing(declaredType: one.declaredType)
    trial.work.mediaType = one.mediaType
    trial.work.metadata = one.metadata
    trial.work.twin = one.twin
    trial.work.attempt = one.attempt
    return trial
  }

  // MARK: A stage

  private func run(_ one: Case, _ description: StageDescription, _ folder: ScratchFolder) throws -> Found {
    var found = Found()
    let values: [OptionValue]
    do throws(ConfigurationError) {
      values = try document.values(of: one, for: description)
    } catch {
      found.refused = error.diagnostics.map { $0.message + ($0.remedy.map { "; \($0)" } ?? "") }.joined(
        separator: "\n")
      return found
    }
    var stage = StageDefinition(id: description.id, description: description, values: values)
    if let timeout = one.timeout { stage.timeout = timeout }
    if let memory = one.memory { stage.memory = memory }
    if (description.role == .source) != (one.link != nil) {
      throw WorkbenchError(
        .configuration,
        one.link == nil
          ? "'\(description.id)' is a source: write what it is to fetch as 'link: URL'"
          : "'\(description.id)' is no source and fetches no 'link'; write an 'input'")
    }
    if let link = one.link { return try run(one, stage, link, folder) }
    var trial = try trial(one, needsContent: description.role == .line)
    switch description.role {
    case .line: break
    case .end:
      trial.work.outcome = one.outcome ?? .completed
      trial.work.reason = one.reason
    case .channel:
      trial.work.event = Work.Event(one.event ?? .init())
    case .source: break
    }
    let size = trial.work.frame.count
    if size > Frame.limit {
      throw WorkbenchError(
        .configuration, "what the stage is told comes to \(size) bytes, and \(Frame.limit) fit into a frame")
    }
    let bench = bench(stage, folder)
    do throws(WorkbenchError) {
      try bench.runner.start()
    } catch {
      guard [.refused, .configuration].contains(error.code) else { throw error }
      found.refused = error.description
      return found
    }
    let result = try bench.run(trial)
    idle = bench.runner.pid != nil && !Self.usesFolder(stage) ? (stage, bench) : nil
    (found.verdict, found.code, found.message) = (result.verdict, result.code, result.message)
    (found.mediaType, found.metadata, found.emissions) = (result.mediaType, result.metadata, result.emissions)
    found.location = result.location
    found.milliseconds = Double(result.microseconds) / 1000
    if let produced = result.produced { found.produced = facts(of: produced.content, produced.sha256) }
    (found.derived, found.children) = (facts(of: result.pieces.derived), facts(of: result.pieces.children))
    if let location = result.location { try folder.publish(trial.work.origin.id, to: location) }
    return found
  }

  /// Fetches the link of a case. What lies in the file then is what is produced.
  private func run(
    _ one: Case, _ stage: StageDefinition, _ link: String, _ folder: ScratchFolder
  ) throws -> Found {
    var found = Found()
    var stage = stage
    stage.output = DownloadsDefinition.usualMaxSize
    let bench = SourceBench(StageRunner(stage, launch), limit: stage.output, folder)
    do throws(WorkbenchError) {
      try bench.runner.start()
    } catch {
      guard [.refused, .configuration].contains(error.code) else { throw error }
      found.refused = error.description
      return found
    }
    let start = Clock.monotonic()
    do {
      let transfer = try bench.give(link)
      try bench.finish(transfer, "the link")
      (found.verdict, found.code) = (transfer.result?.verdict.name, transfer.result?.code)
      (found.message, found.metadata) = (transfer.result?.message, transfer.metadata)
      if transfer.isPassed {
        let content = try transfer.file.content()
        found.produced = facts(of: content, try measure(content))
      }
    } catch let end as UnexpectedEnd {
      (found.verdict, found.code) = (end.death.verdict, end.death.code)
      found.message = end.death.message(in: stage)
    }
    found.milliseconds = Double((Clock.monotonic() - start) / 1000) / 1000
    return found
  }

  private func bench(_ stage: StageDefinition, _ folder: ScratchFolder) -> Bench {
    if let idle, idle.stage == stage { return idle.bench }
    var launch = launch
    if Self.usesFolder(stage) { launch.folder = folder.descriptor.number }
    return Bench(runner: StageRunner(stage, launch), digest: StageRunner(digest, self.launch))
  }

  private static func usesFolder(_ stage: StageDefinition) -> Bool {
    stage.description.capability == .store || stage.description.role == .channel
  }

  // MARK: A pipeline

  private func run(_ one: Case, _ pipeline: PipelineDefinition, _ folder: ScratchFolder) throws -> Found {
    if let unknown = one.canned.keys.sorted().first(where: { id in !pipeline.stages.contains { $0.id == id } }
    ) {
      throw WorkbenchError(
        .configuration,
        "the pipeline has no stage '\(unknown)' for 'stages' to name"
          + (Suggestion.nearest(to: unknown, among: pipeline.stages.map(\.id)).map {
            "; did you mean '\($0)'?"
          } ?? ""))
    }
    let rehearsal = Rehearsal(pipeline, digest: digest, launch: launch, folder: folder)
    let start = Clock.monotonic()
    let result = try rehearsal.run(try trial(one, needsContent: true), canned: one.canned)
    var found = Found()
    found.milliseconds = Double((Clock.monotonic() - start) / 1000) / 1000
    found.outcome = result.outcome?.rawValue ?? "tried-again"
    (found.stage, found.code, found.message) = (
      result.reason?.stage, result.reason?.code, result.reason?.message
    )
    found.path = result.steps.map(\.stage)
    (found.mediaType, found.metadata, found.emissions) = (result.mediaType, result.metadata, result.emissions)
    found.location = result.location
    (found.derived, found.children) = (facts(of: result.pieces.derived), facts(of: result.pieces.children))
    return found
  }

  // MARK: What there is afterwards

  /// By their names, where one that comes again has a number after it.
  private func facts(of pieces: [TrialPieces.Entry]) -> [(path: String, file: Found.FileFacts)] {
    var seen: [String: Int] = [:]
    return pieces.map { entry in
      let count = seen[entry.piece.name, default: 0] + 1
      seen[entry.piece.name] = count
      let name = count > 1 ? "\(entry.piece.name) (\(count))" : entry.piece.name
      return (name, facts(of: entry.content, entry.sha256))
    }
  }

  private func facts(of folder: ScratchFolder) throws -> [(path: String, file: Found.FileFacts)] {
    try folder.files.map { path in
      let content = try Content("\(folder.path)/\(path)")
      return (path, facts(of: content, try measure(content)))
    }
  }

  private func measure(_ content: Content) throws -> String {
    let runner = StageRunner(digest, launch)
    return try Bench(runner: runner, digest: runner).measure(content)
  }

  private func facts(of content: Content, _ sha256: String) -> Found.FileFacts {
    Found.FileFacts(sha256: sha256, size: content.size, text: content.text(atMost: Found.textLimit))
  }
}

extension Work.Event {
  /// When events of cases were created, in milliseconds since 1970: always the same, so that a case can say what is written.
  private static var createdAt: Int64 { 1_767_605_400_000 }

  /// The event of a case.
  init(_ event: Case.Event) {
    let body =
      event.body
      ?? EventBody.text(
        id: event.id, type: event.type, createdAt: Self.createdAt, recipient: event.recipient)
    self.init(id: event.id, type: event.type, recipient: event.recipient, body: body)
  }
}
