"""How metrics change from session to session: series, findings, incidents, causes."""
