// The page of an audit.
export function showAudit(root, data) {}
