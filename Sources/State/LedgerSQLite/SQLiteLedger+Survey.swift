import LedgerPort
import Pipeline
import SQLite

// What reports count. It is read from a million attachments at a time, so no JSON is parsed but what stages took.
extension SQLiteLedger {
  private static let surveyed = [
    "a.id", "a.status", "a.size_bytes",
    "a.media_type", "CASE WHEN a.url IS NOT NULL THEN a.sha256 END", "a.reason_stage", "a.reason_code",
    "a.finished_at",
    // A JSON text has no line break in it.
    "(SELECT group_concat(said, char(10)) FROM attempts WHERE attachment_key = a.key)",
  ]

  public func survey(
    _ filter: AttachmentFilter, after mark: PageMark?, limit: Int
  ) throws(LedgerError) -> Page<SurveyedAttachment> {
    try select(filter, after: mark, limit: limit, more: Self.surveyed) { row in
      SurveyedAttachment(
        id: row.text(2), status: Status(rawValue: row.text(3)) ?? .queued, mediaType: row.optionalText(5),
        sizeBytes: row.optionalInteger(4), object: SurveyedAttachment.object(row.blob(6)),
        reason: row.optionalText(8).map { .init(stage: row.text(7), code: $0) },
        createdAt: row.integer(0), finishedAt: row.optionalInteger(9), times: StageTimes.read(row.blob(10)))
    }
  }
}
