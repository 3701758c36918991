import Configuration
import HomeFolder
import LedgerPort
import LedgerSQLite
import Manifest
import Pipeline
import Platform
import Workbench

/// `sluice ingest --dry-run`: what would be taken in, and what the pipeline would say of it. Records nothing, and
/// fetches nothing.
final class DryRun {
  private let rehearsal: Rehearsal
  private let folder: ScratchFolder
  private let files: NewFiles
  private let fetches: Bool
  private let isAgain: Bool
  private var report: DryRunReport
  private var failure: (any Error)?

  /// - Parameter limit: how many new files to look at; `nil`: all.
  init(
    _ pipeline: LoadedPipeline, home: Home, limit: Int64?, manifest: String?, _ arguments: ParsedArguments
  ) throws {
    // First, so that no signal leaves the folder.
    var launch = Environment.launch(arguments, pipeline.search)
    folder = try ScratchFolder(in: Environment.temporaryFolder)
    launch.sandbox = pipeline.definition.sandbox
    let digest = StageDefinition(id: pipeline.digest.id, description: pipeline.digest, values: [])
    rehearsal = Rehearsal(pipeline.definition, digest: digest, launch: launch, folder: folder)
    files = NewFiles(Environment.lacksLedger(home) ? nil : try home.reader(), limit: limit)
    fetches = pipeline.definition.downloads != nil
    isAgain = arguments.flag("again")
    report = DryRunReport(arguments, manifest: manifest)
  }

  var hasMore: Bool { files.hasMore }
  /// Files found, known ones included.
  var found: Int64 { report.found }

  /// Looks at what is named.
  func run(_ input: IntakeArguments, _ manifest: ManifestReader?, home: Home) throws -> ExitCode {
    let walker = InputWalker(
      defaults: input.defaults, bound: input.bound, home: home, fetches: fetches, send: look,
      problem: { self.report.add($0) })
    if let manifest { walker.read(manifest) } else { walker.walk(input.paths) }
    if let failure { throw failure }
    report.end(hasMore: files.hasMore)
    return report.isClean ? .success : .incomplete
  }

  /// False: that is all.
  private func look(_ items: [IntakeItem]) -> Bool {
    for item in items {
      switch files.judge(item) {
      case .tooMany: return false
      case .known(let attachment) where !isAgain || item.url != nil:
        let status = attachment?.status ?? .queued
        report.addKnown(isNotCompleted: status.isFinal && status != .completed)
      case .new where item.url != nil: report.add(link: item)
      case .new, .known:
        do {
          report.add(item, try rehearse(item))
        } catch {
          failure = error
          return false
        }
      }
    }
    return true
  }

  private func rehearse(_ item: IntakeItem) throws -> AttachmentOutcome {
    let content: Content
    do {
      content = try Content(source: item.source)
    } catch {
      return AttachmentOutcome(
        .failed, reason: Reason(stage: "source", code: error.code, message: error.message))
    }
    defer { folder.empty() }
    var trial = Trial(fileName: item.fileName, content: content)
    trial.work.origin = trial.work.origin.replacing(
      conversationId: item.conversationId, messageId: item.messageId, senderId: item.senderId,
      declaredType: item.declaredType)
    let result = try rehearsal.run(trial)
    return AttachmentOutcome(
      result.outcome ?? .queued, reason: result.reason, mediaType: result.mediaType,
      sizeBytes: result.content?.size ?? content.size, sha256: nil,
      metadata: JSONWriter.object(of: result.metadata), url: nil)
  }
}
