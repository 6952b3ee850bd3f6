throw new Error("the mail server\nis not configured");
