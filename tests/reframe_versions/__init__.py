"""An installed copy beside a site's own ReFrame: each supported release of it in its own venv."""
