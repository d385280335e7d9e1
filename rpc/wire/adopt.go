package wire

// AdoptCandidate is a workspace that may have been a folder's.
type AdoptCandidate struct {
	// Id of the workspace.
	Workspace string `json:"workspace"`
	// The root folder that it had.
	URI string `json:"uri"`
}

// WorkspaceAdoptParams says which memory a folder is to have from now on.
type WorkspaceAdoptParams struct {
	// The root folder.
	Workspace Workspace `json:"workspace"`
	// Id of the workspace whose memory it gets; its own folder must not be there
	// any more. The id that the folder has: it keeps that, and is not asked again.
	From string `json:"from"`
}

// WorkspaceAdoptResult tells what was changed. Sessions that are open stay in the
// workspace that they were opened in.
type WorkspaceAdoptResult struct {
	// Id of the workspace that the folder has now.
	Workspace string `json:"workspace"`
	// Id of the one that it had. What was recorded there stays there; adopting it
	// again brings it back.
	Before string `json:"before"`
}
