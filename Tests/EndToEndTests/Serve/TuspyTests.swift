import Foundation
import Testing

/// Uploads by a client that others wrote: tuspy, Debian's `python3-tuspy`.
struct TuspyTests {
  static let isThere: Bool = {
    let asked = try? FixtureStages.run("/usr/bin/python3", ["-c", "import tusclient"])
    return asked == 0
  }()

  @Test(.enabled(if: isThere, "skipped: no python3-tuspy here")) func tuspyUploadsInPiecesAndGoesOn() throws {
    let folder = try TemporaryFolder()
    let served = try ServedHome(folder)
    let token = try served.token("ann")
    let content = try Samples.data("report.pdf")
    try content.write(to: URL(fileURLWithPath: folder.path + "/report.pdf"))
    try folder.write("upload.py", Self.program)
    let status = try FixtureStages.run(
      "/usr/bin/python3", [folder.path + "/upload.py", String(served.port), token, folder.path])
    #expect(status == 0)
    let place = try #require(URL(string: try folder.read("place"))?.path)
    let state = try TusClient(served: served, token: token).state(place)
    #expect(state.offset == content.count)
    let attachment = try #require(state.attachment)
    try Resident.wait("it is completed") {
      (try? served.ask("GET", "/v1/attachments/\(attachment)/content", token: token))?.body == content
    }
    #expect(served.stop() == 0)
  }

  /// It sends a third, is thrown away, and another goes on from where that was.
  private static let program = """
    import os, sys
    from tusclient import client
    port, token, folder = sys.argv[1:]
    path = folder + "/report.pdf"
    tus = client.TusClient("http://127.0.0.1:%s/v1/uploads" % port, {"Authorization": "Bearer " + token})
    size = os.path.getsize(path)
    metadata = {"filename": "report.pdf", "conversationId": "c1"}
    first = tus.uploader(path, chunk_size=max(size // 9, 1), metadata=metadata)
    first.upload(stop_at=size // 3)
    second = tus.uploader(path, chunk_size=max(size // 9, 1), url=first.url)
    second.upload()
    open(folder + "/place", "w").write(second.url)

    """
}
