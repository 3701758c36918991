import Configuration
import Glibc
import LedgerPort
import Pipeline
import Platform
import Workbench

/// Runs ended attachments through a pipeline again.
final class ReplayPlayer {
  enum Outcome {
    case played(Rehearsal.Result)
    /// The content is gone or has changed since.
    case impossible(String)
  }

  private let pipeline: PipelineDefinition
  private let first: Int
  private let store: String
  private let rehearsal: Rehearsal
  private let measuring: Bench
  private let folder: ScratchFolder

  /// - Parameters:
  ///   - first: the place of the first stage to run.
  ///   - store: the path of the home's store.
  ///   - folder: where stages that store write meanwhile.
  init(
    _ pipeline: PipelineDefinition, first: Int, store: String, digest: StageDefinition,
    launch: StageRunner.Launch,
    folder: ScratchFolder
  ) {
    self.pipeline = pipeline
    self.first = first
    self.store = store
    self.folder = folder
    rehearsal = Rehearsal(pipeline, digest: digest, launch: launch, folder: folder)
    let runner = StageRunner(digest, launch)
    measuring = Bench(runner: runner, digest: runner)
  }

  /// Whether the attachment passed all stages before the first one to run again.
  func cameSoFar(_ record: AttachmentRecord) -> Bool {
    guard let stage = record.outcome.reason?.stage else { return true }
    if stage == "source" { return false }
    guard let place = pipeline.stages.firstIndex(where: { $0.id == stage }) else { return true }
    return place >= first
  }

  func play(_ record: AttachmentRecord) throws -> Outcome {
    // If the metadata cannot be read, assume that nothing was replaced: the hash will show a difference.
    let original = (try? MetadataText.data(record.outcome.metadata))?.first { $0.key == Self.originalKey }
    if original != nil, let producer = producerBefore {
      return .impossible(
        "its content from before '\(pipeline.stages[first].id)' is not kept; give `--from \(producer)`, or none"
      )
    }
    guard let (content, sha256) = try content(of: record, original: original?.value.text) else {
      return .impossible("its content is neither in the store nor at its source, or has changed since")
    }
    defer { folder.empty() }
    var trial = Trial(fileName: record.origin.fileName, content: content)
    trial.work.origin = record.origin
    trial.work.sha256 = sha256
    // The first stage determines the media type itself, so it gets none.
    trial.work.mediaType = first == 0 ? nil : record.outcome.mediaType
    trial.work.metadata = try earlier(record)
    return .played(try rehearsal.run(trial, from: first))
  }

  /// The metadata recorded by the stages before the first one to run.
  private func earlier(_ record: AttachmentRecord) throws -> [Metadatum] {
    let later = pipeline.stages.dropFirst(first).flatMap { $0.description.keys.map(\.name) }
    return try MetadataText.data(record.outcome.metadata).filter { datum in
      !later.contains { $0 == datum.key || $0.hasSuffix("*") && datum.key.hasPrefix($0.dropLast()) }
        && datum.key != Self.originalKey
    }
  }

  private static let originalKey = "original.sha256"

  /// The line's stages that may replace the content.
  private var producers: [Int] {
    pipeline.stages.indices.filter {
      pipeline.stages[$0].description.produces && pipeline.stages[$0].description.role == .line
    }
  }

  /// The stage before the first one to run that may have replaced the content, where a later one may have replaced that as well: the
  /// content between the two is not kept.
  private var producerBefore: String? {
    guard let place = producers.first, place < first, producers.contains(where: { $0 >= first }) else {
      return nil
    }
    return pipeline.stages[place].id
  }

  /// The content as the first stage to run gets it. Where a stage has replaced it, that is the source for the stages up to that
  /// one, and the object for those after it.
  private func content(of record: AttachmentRecord, original: String?) throws -> (Content, String)? {
    var wanted = record.outcome.sha256.map { Hexadecimal.text($0) }
    var places: [(path: [UInt8], isSource: Bool)] = []
    if let object = record.outcome.url ?? record.keptObject {
      places.append((Array("\(store)/\(object)".utf8), false))
    }
    if let original, !producers.contains(where: { $0 < first }) {
      wanted = original
      places = []
    }
    if wanted == original || original == nil { places.append((record.source, true)) }
    for place in places {
      // If this place cannot be opened or measured, try the next one.
      let content: Content
      let sha256: String
      do {
        content = try place.isSource ? Content(source: place.path) : Content(path: place.path)
        sha256 = try measuring.measure(content)
      } catch is Content.Problem {
        continue
      }
      // Content that was rejected for its length has no hash.
      let isSame =
        wanted.map { $0 == sha256 } ?? (record.outcome.sizeBytes.map { $0 == content.size } ?? true)
      if isSame { return (content, sha256) }
    }
    return nil
  }
}
