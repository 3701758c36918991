import Foundation
import Testing

/// The image stage in an ingest: its output is stored.
struct ImageTests {
  @Test(arguments: [1, 3, 6, 8] as [UInt8])
  func aPhotoIsStoredUprightAndWithoutThePlaceItWasTakenAt(orientation: UInt8) throws {
    let photo = try Samples.photo(orientation: orientation)
    let (inbox, run) = try ingest(["photo.jpg": photo])
    let record = try run.record("photo.jpg")
    #expect(record.status == "completed", "\(record)")
    #expect(record.mediaType == "image/jpeg")
    #expect(record.metadata["image.removed"] == "exif location")
    #expect(record.metadata["image.orientation"]?.asInteger == Int(orientation))
    #expect(try record.metadata["original.sha256"] == .text(Inbox.sha256(photo)))

    let stored = try stored(record, inbox)
    for trace in ["Exif", "MM\0*", "http://ns.adobe.com"] {
      #expect(stored.range(of: Data(trace.utf8)) == nil)
    }
    let isTurned = orientation > 4
    let size = try #require(Samples.size(jpeg: stored))
    #expect(size == (isTurned ? (200, 320) : (320, 200)))
    #expect(record.metadata["image.width"]?.asInteger == size.width)
    #expect(record.metadata["image.height"]?.asInteger == size.height)
    try inbox.checkWhole(run)
  }

  @Test func whatIsLargerThanTheLongestEdgeIsMadeToFit() throws {
    let (inbox, run) = try ingest(
      ["photo.png": Samples.data("photo.png"), "photo.jpg": Samples.photo(orientation: 6)], "{ fit: 64 }")
    let png = try stored(run.record("photo.png"), inbox)
    #expect(try #require(Samples.size(jpeg: png)) == (64, 40), "an opaque PNG is stored as JPEG")
    #expect(try #require(Samples.size(jpeg: stored(run.record("photo.jpg"), inbox))) == (40, 64))
    #expect(try run.record("photo.png").url?.hasSuffix(".jpg") == true)
  }

  @Test func whatShinesThroughStaysPNG() throws {
    let (inbox, run) = try ingest(["logo.png": Samples.transparentPNG()])
    let record = try run.record("logo.png")
    #expect(record.mediaType == "image/png")
    let stored = try stored(record, inbox)
    #expect(stored.starts(with: [0x89, 0x50, 0x4E, 0x47]))
    #expect(stored[25] == 6, "truecolour with alpha")
  }

  @Test func anAnimationStaysAsItIsAndIsSaidToOrIsRefused() throws {
    let animation = try Samples.data("animation.gif")
    let (inbox, run) = try ingest(["a.gif": animation])
    let record = try run.record("a.gif")
    #expect(record.status == "completed")
    #expect(record.metadata["image.action"] == "as-is")
    #expect(record.metadata["image.pages"] == 8)
    #expect(try stored(record, inbox) == animation)

    let (_, refusing) = try ingest(["a.gif": animation], "{ as-is: reject }")
    #expect(try refusing.record("a.gif").code == "not-rewritten")
  }

  // MARK: Hostile

  @Test func aBombIsRefusedBeforeItIsDecoded() throws {
    let start = Date()
    let bomb = Samples.whitePNG(width: 30_000, height: 30_000, isThere: false)
    let (inbox, run) = try ingest(["bomb.png": bomb, "photo.jpg": Samples.data("photo.jpg")], memory: "16MB")
    let record = try run.record("bomb.png")
    #expect(record.status == "rejected")
    #expect(record.code == "too-many-pixels")
    #expect(record.message.contains("30000 x 30000 pixels, and 50000000 are allowed"), "\(record.message)")
    #expect(try run.record("photo.jpg").status == "completed")
    #expect(Date().timeIntervalSince(start) < 100)
    try inbox.checkWhole(run)
  }

  @Test func aLargeImageIsReadLineByLine() throws {
    // Decoded, it has at least 48 million bytes.
    let image = Samples.whitePNG(width: 8064, height: 6048)
    let (inbox, run) = try ingest(["sheet.png": image], memory: "32MB")
    let record = try run.record("sheet.png")
    #expect(record.status == "completed", "\(record)")
    #expect(try #require(Samples.size(jpeg: stored(record, inbox))) == (2048, 1536))
  }

  @Test func damagedImagesAreRejectedAndNothingCrashes() throws {
    var images: [String: Data] = ["whole.jpg": try Samples.data("photo.jpg")]
    for name in ["photo.jpg", "photo.png"] {
      let image = try Samples.data(name)
      for part in [4, 20, 33, 200, image.count / 2, image.count - 300] where part < image.count {
        images["\(part)-\(name)"] = image.prefix(part)
      }
    }
    let (inbox, run) = try ingest(images)
    for (name, _) in images where name != "whole.jpg" {
      // A file too short to be recognized as an image passes unchanged.
      let record = try run.record(name)
      let isImage = record.mediaType?.hasPrefix("image/") == true
      #expect(record.code == (isImage ? "image-damaged" : nil), "\(name), \(record.mediaType ?? "")")
    }
    #expect(try run.record("whole.jpg").status == "completed")
    #expect(try images.keys.filter { try run.record($0).code == "image-damaged" }.count > 6)
    try inbox.checkWhole(run)
  }

  // MARK: Setting up

  private func ingest(_ files: [String: Data], _ options: String = "{}", memory: String = "256MB") throws -> (
    Inbox, Inbox.Run
  ) {
    let inbox = try Inbox()
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.storing(
        """
        - use: image
          when: image/*
          memory: \(memory)
          options: \(options)
        """))
    for (name, data) in files { try inbox.folder.write("in/" + name, data) }
    let run = try inbox.run()
    return (inbox, run)
  }

  private func stored(_ record: Printed.Attachment, _ inbox: Inbox) throws -> Data {
    let url = try #require(record.url, "\(record)")
    return try Data(contentsOf: URL(fileURLWithPath: "\(inbox.folder.path)/home/store/\(url)"))
  }
}
